"""Budgets as JSON and back, exactly; and events on rows, restated for people with several rows."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, TypeVar

from giveortake.errors import InvalidParameter, LedgerMismatch, LedgerTooNew, Unprovable
from giveortake.ledger.entries import UPGRADE
from giveortake.privacy import (
    ROW,
    ZCDP,
    ApproxDP,
    GaussianDP,
    Guarantee,
    Neighbours,
    PureDP,
    Unit,
    documents,
    events,
)
from giveortake.privacy.documents import KINDS, promise_to_json

__all__ = ["for_group", "promise_from_json", "promise_to_json", "protecting", "restated"]

SomePromise = TypeVar("SomePromise", bound=Guarantee)


def promise_from_json(content: dict[str, Any]) -> Guarantee:
    """Read a promise that `promise_to_json` wrote; LedgerTooNew if its kind is unknown here."""
    kind = content["promise"]
    if kind not in KINDS:
        raise LedgerTooNew(f"the ledger holds a budget of the kind {kind!r}, which is unknown here", hint=UPGRADE)
    return documents.promise_from_json(content)


def protecting(name: str, promise: SomePromise, protected: Unit) -> SomePromise:
    """Return a budget as a promise to `protected`; a budget without a unit takes this one."""
    if not isinstance(promise, Guarantee):
        raise InvalidParameter(name, promise, "is not a promise", hint='write, for example, PureDP("1")')
    if promise.unit == protected:
        return promise
    if promise.unit == ROW:
        return replace(promise, unit=protected)
    raise LedgerMismatch(
        f"the {name} protects {promise.unit}, but it is declared for {protected}",
        hint="write the budget for the unit that is protected there",
    )


def for_group(event: events.Event, size: int, neighbours: Neighbours) -> events.Event:
    """Restate an event on single rows for a person with at most `size` rows.

    Guarantee (group privacy, [PDP21, L1.7], [Lal20, Prop. 6]): k rows are k steps of the neighbouring relation. Noise
    that is calibrated to a sensitivity Δ faces at most kΔ; other events are restated by what they promise to groups.
    Under change-one, a release from one part of the data is k steps, each with the weaker of its cases
    (`InPart.cases`): the rows may lie in k parts, so it adds to the releases from the others.
    """
    if size == 1:
        return event
    match event:
        case events.Laplace():
            return events.Laplace(event.noise_multiplier / size)
        case events.Gaussian():
            return events.Gaussian(event.noise_multiplier / size)
        case events.Geometric():
            return events.Geometric(event.scale, event.sensitivity * size)
        case events.DiscreteGaussian():
            return events.DiscreteGaussian(event.sigma, event.sensitivity * size)
        case events.Exponential():
            return events.Exponential(event.epsilon * size)
        case events.Composed():
            return events.Composed([for_group(part, size, neighbours) for part in event.events])
        case events.Repeated():
            return events.Repeated(for_group(event.event, size, neighbours), event.times)
    return restated(event.guarantee(neighbours=neighbours).group(size))


def restated(promise: Guarantee) -> events.Event:
    """An event that makes exactly this promise, and no better one."""
    match promise:
        case PureDP():
            return events.Pure(promise.epsilon)
        case ApproxDP():
            return events.Approx(promise.epsilon, promise.delta)
        case ZCDP():
            return events.ZCDP(promise.rho)
        case GaussianDP():
            return events.Gaussian(1 / promise.mu)
    raise Unprovable(
        f"no event is known that makes the promise {promise!r}",
        hint="bound what a person contributes, and declare the data set with the person as its unit",
    )
