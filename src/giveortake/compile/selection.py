"""Ways to find keys in the data: the question to the engine, the noise, the threshold, and the price."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar, Literal, TypeAlias, final

from giveortake import exact
from giveortake.engines import Persons
from giveortake.mechanisms import DiscoveredHistogram, Gaussian, KeySelection, Laplace, WeightedKeys
from giveortake.mechanisms.partition_selection import weights

if TYPE_CHECKING:
    from typing import Self

    from giveortake.engines import Keys
    from giveortake.mechanisms import Sensitive
    from giveortake.mechanisms.additive import RoundedNoise
    from giveortake.mechanisms.bounded_integers import BoundedIntegers
    from giveortake.plan import Relation, Value
    from giveortake.privacy.events import DiscoveredKeys, GaussianKeys
    from giveortake.randomness import Entropy

    Units = Sensitive[tuple[list[tuple[Value, ...]], BoundedIntegers]]


Norm: TypeAlias = Literal["l1", "l2", "greatest"]


@dataclass(frozen=True, slots=True)
class Selection(ABC):
    """A way to find keys. Of each unit at most `touched` keys count; `sensitivity` is that of the mechanism.

    `decides` is the place of the measure that the deciding number also answers, if any: then keys come with it.
    """

    stored_name: ClassVar[str]
    mechanism: Any
    touched: int
    sensitivity: int
    decides: int | None = None

    @abstractmethod
    def event(self) -> DiscoveredKeys | GaussianKeys:
        """The event that is charged for finding keys."""

    @abstractmethod
    def as_added(self) -> Self:
        """The same selection under add-remove neighbours."""

    @abstractmethod
    def named(self) -> list[Any]:
        """What it adds to a question's name. This is a stored format, in which noisy counts alone add nothing."""

    @abstractmethod
    def moves(self) -> list[tuple[str, Fraction, Norm]]:
        """How far one unit moves the deciding numbers: of all keys together, and of each."""

    @property
    @abstractmethod
    def changed(self) -> int:
        """How many keys one unit can add or remove at most."""

    @property
    @abstractmethod
    def scale(self) -> Fraction:
        """The noise scale of the selection."""

    @property
    @abstractmethod
    def told(self) -> str:
        """In words, when a key is shown."""

    @property
    @abstractmethod
    def least(self) -> int:
        """The least number of units with which a key has an even chance to be shown."""

    @property
    def scratch_name(self) -> str:
        """A name for the file of found keys, until they are settled: everything that decides which keys are drawn."""
        parts = [self.touched, self.sensitivity, self.decides, str(self.scale), self.least, self.event().to_json()]
        return json.dumps([self.stored_name, *parts, *self.named()], sort_keys=True)

    def question(self, relation: Relation, keys: Keys) -> Persons:
        """The question to an engine."""
        return Persons(relation, keys, self.touched)

    def draw(self, units: Units, entropy: Entropy | None = None) -> list[tuple[Value, ...]]:
        """Draw the keys to show."""
        shown: list[tuple[Value, ...]] = self.mechanism.select(units, entropy)
        return shown

    def noise(self, fineness: int) -> RoundedNoise:
        """The noise of the deciding number, in parts of 1 / `fineness`; only for one that is an answer."""
        raise NotImplementedError(f"{type(self).__name__} has no number to show")


@dataclass(frozen=True, slots=True)
class _Counted(Selection):
    """A way to find keys whose deciding number may also be an answer."""

    def draw(self, units: Units, entropy: Entropy | None = None) -> list[tuple[Value, ...]]:
        """Draw the keys to show, each followed by its noisy number if that is an answer."""
        if self.decides is None:
            shown: list[tuple[Value, ...]] = self.mechanism.select(units, entropy)
            return shown
        keys, numbers = self.mechanism.shown(units, entropy)
        return [(*key, number) for key, number in zip(keys, numbers.tolist(), strict=True)]


@dataclass(frozen=True, slots=True)
class _OfUnits(Selection):
    """A way to find keys by counting units: `sensitivity` is how many keys one unit moves, each by one."""

    def moves(self) -> list[tuple[str, Fraction, Norm]]:
        one: Norm = "greatest"
        return [("units of all keys", Fraction(self.sensitivity), "l1"), ("units of one key", Fraction(1), one)]

    @property
    def changed(self) -> int:
        return self.sensitivity


@final
@dataclass(frozen=True, slots=True)
class NoisyCounts(_Counted, _OfUnits):
    """Laplace noise on the number of units; one unit moves the numbers of all keys together by `sensitivity`."""

    stored_name: ClassVar[str] = "noisy counts"
    mechanism: DiscoveredHistogram

    def event(self) -> DiscoveredKeys:
        return self.mechanism.event(self.sensitivity, lone_values=self.touched)

    def as_added(self) -> NoisyCounts:
        return replace(self, sensitivity=self.touched)

    def named(self) -> list[Any]:
        if self.decides is None:
            return []
        mechanism = self.mechanism
        return ["one count", str(mechanism.scale), mechanism.threshold, self.touched, self.decides]

    @property
    def scale(self) -> Fraction:
        return self.mechanism.scale

    @property
    def told(self) -> str:
        return f"a noisy number of persons reaches {self.mechanism.threshold}"

    @property
    def least(self) -> int:
        return self.mechanism.threshold

    def noise(self, fineness: int) -> Laplace:
        return Laplace(self.mechanism.scale * fineness)


@final
@dataclass(frozen=True, slots=True)
class OptimalChances(_OfUnits):
    """Shows each key with the greatest probability its number of units allows; a unit touches `sensitivity` keys."""

    stored_name: ClassVar[str] = "optimal chances"
    mechanism: KeySelection

    def event(self) -> DiscoveredKeys:
        return self.mechanism.event_of_keys(self.sensitivity)

    def as_added(self) -> OptimalChances:
        return replace(self, sensitivity=self.touched)

    def named(self) -> list[Any]:
        return ["optimal chances", str(self.mechanism.epsilon), str(self.mechanism.delta), self.touched]

    @property
    def scale(self) -> Fraction:
        return 1 / self.mechanism.epsilon

    @property
    def told(self) -> str:
        return f"enough persons have it (one that {self.least:,} persons have is shown with a chance of 1/2)"

    @property
    def least(self) -> int:
        return self.mechanism.margin("0.5")


@final
@dataclass(frozen=True, slots=True)
class NoisyWeights(_Counted):
    """Gaussian noise on weights that each unit splits among its keys; `sensitivity` is 2 under change-one, else 1."""

    stored_name: ClassVar[str] = "noisy weights"
    mechanism: WeightedKeys

    def event(self) -> GaussianKeys:
        return self.mechanism.event(self.sensitivity)

    def as_added(self) -> NoisyWeights:
        return replace(self, sensitivity=1)

    def named(self) -> list[Any]:
        mechanism = self.mechanism
        decides = [] if self.decides is None else [self.decides]
        return ["noisy weights", str(mechanism.sigma), mechanism.threshold, mechanism.length, self.touched, *decides]

    def question(self, relation: Relation, keys: Keys) -> Persons:
        if self.touched == 1:
            return Persons(relation, keys, 1)
        return Persons(relation, keys, self.touched, weights(self.mechanism.length, self.touched))

    def moves(self) -> list[tuple[str, Fraction, Norm]]:
        together = self.mechanism.sigma / self.event().noise_multiplier
        one: Norm = "greatest"
        return [("weights of all keys", together, "l2"), ("weights of one key", Fraction(self.mechanism.length), one)]

    @property
    def changed(self) -> int:
        return self.touched * self.sensitivity

    @property
    def scale(self) -> Fraction:
        return self.mechanism.sigma

    @property
    def told(self) -> str:
        if self.touched == 1:
            return f"a noisy number of persons reaches {self.mechanism.threshold}"
        return (
            f"its noisy weight reaches {float(self.mechanism.threshold / self.mechanism.length):.4g}, "
            "of which a person with m keys gives 1/√m to each"
        )

    @property
    def least(self) -> int:
        return exact.ceiling(Fraction(self.mechanism.threshold, self.mechanism.length))

    def noise(self, fineness: int) -> Gaussian:
        return Gaussian(self.mechanism.sigma * fineness)
