"""Where an answer comes from: what it promises, what was done and by whose theorems, in words and without any coin."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from giveortake.compile.measurement import Measurement
    from giveortake.compile.spends import Spend
    from giveortake.privacy import Unit


def provenance(made: Measurement, spend: Spend, unit: Unit) -> dict[str, Any]:
    """What an answer says besides its table, as far as the question and its price decide it."""
    promise = made.promise(spend, unit)
    return {
        "guarantee": promise,
        "cost": promise,
        "citations": tuple(dict.fromkeys(noise.citation for noise in made.noises)),
        "recipe": _recipe(made, spend),
        "notes": _notes(made),
    }


def noise_in_words(made: Measurement) -> dict[str, str]:
    """The noise of every measure, by its name."""
    return {each.name: each.described(noise) for each, noise in zip(made.measures, made.noises, strict=True)}


def caps_in_words(made: Measurement) -> str | None:
    """How much of one person counts, if anything is capped."""
    return str(made.caps) if made.stability.bounding is not None or made.caps.total is not None else None


def _recipe(made: Measurement, spend: Spend) -> dict[str, object]:
    """The spend, the caps, how keys are found, and the noise of every measure."""
    steps: dict[str, object] = {"spend": str(spend)}
    caps = caps_in_words(made)
    if caps is not None:
        steps["contributions"] = caps
    if made.selection is not None:
        steps["keys"] = (
            f"found in the data: shown if a noisy number of persons reaches {made.selection.mechanism.threshold}, "
            f"of at most {made.selection.touched} keys of each"
        )
    return {**steps, **noise_in_words(made)}


def _notes(made: Measurement) -> tuple[str, ...]:
    """What a reader of the answer should know about what it leaves out."""
    found = []
    if made.selection is not None:
        least = made.selection.mechanism.threshold
        found.append(f"only keys that about {least:,} persons or more share are shown; declared domains show all")
    if made.caps.total is not None:
        found.append(f"{made.caps}")
    bare = [name for name, formula in made.formulas if not formula.has_interval]
    if bare:
        found.append(f"no interval is claimed for {', '.join(f'`{name}`' for name in bare)}: the order of rows decides")
    return tuple(found)
