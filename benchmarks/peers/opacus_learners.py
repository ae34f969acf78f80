"""Opacus: a linear model and a small network by noisy descent, asked as `learning_peers.py` is.

It has no default clip, rate or number of passes. Those here were chosen for its benefit, by trying others on these
very tables.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from learning_peers import DELTA, answer

PASSES, STEPS = 20, 20  # over all rows; in each
CLIP, HIDDEN = 1.0, 32
RATE, RATE_OF_NUMBERS = 0.1, 0.5  # the second for a network that predicts a number


@dataclass
class Descent:
    """A model with the methods of scikit-learn."""

    hidden: int
    bounds: Any
    epsilon: float
    model: Any = field(default=None, init=False)

    def fit(self, columns: Any, target: Any) -> None:
        import torch  # type: ignore[import-not-found]  # noqa: PLC0415 (a peer's environment has it)
        from opacus import PrivacyEngine  # type: ignore[import-not-found]  # noqa: PLC0415 (as above)

        torch.set_num_threads(1)
        wide = columns.shape[1]
        if self.bounds is not None:
            low, high = self.bounds
            target = 2 * (target - low) / (high - low) - 1
        layers = [torch.nn.Linear(wide, self.hidden), torch.nn.Tanh(), torch.nn.Linear(self.hidden, 1)]
        model = torch.nn.Sequential(*layers) if self.hidden else torch.nn.Linear(wide, 1)
        rate = RATE_OF_NUMBERS if self.hidden and self.bounds is not None else RATE
        held = [torch.tensor(each, dtype=torch.float32) for each in (columns, target)]
        rows = torch.utils.data.TensorDataset(*held)
        model, optimizer, loader = PrivacyEngine().make_private_with_epsilon(
            module=model,
            optimizer=torch.optim.SGD(model.parameters(), lr=rate),
            data_loader=torch.utils.data.DataLoader(rows, batch_size=max(1, len(rows) // STEPS)),
            target_epsilon=self.epsilon,
            target_delta=DELTA,
            epochs=PASSES,
            max_grad_norm=CLIP,
        )
        loss = torch.nn.BCEWithLogitsLoss() if self.bounds is None else torch.nn.MSELoss()
        for _ in range(PASSES):
            for batch, wanted in loader:
                optimizer.zero_grad()
                loss(model(batch)[:, 0], wanted).backward()
                optimizer.step()
        self.model = model.eval()

    def predict(self, columns: Any) -> Any:
        import torch  # noqa: PLC0415

        with torch.no_grad():
            found = self.model(torch.tensor(columns, dtype=torch.float32))[:, 0].numpy()
        if self.bounds is None:
            return found
        low, high = self.bounds
        return low + (found + 1) * (high - low) / 2

    def predict_proba(self, columns: Any) -> Any:
        import numpy as np  # noqa: PLC0415

        chances = 1 / (1 + np.exp(-self.predict(columns).astype(float)))
        return np.column_stack([1 - chances, chances])


def learner(model: str, _declared: Any, bounds: Any, epsilon: float) -> tuple[Any, bool]:
    return Descent({"opacus-linear": 0, "opacus-network": HIDDEN}[model], bounds, epsilon), True


if __name__ == "__main__":
    answer(("torch", "opacus"), learner)
