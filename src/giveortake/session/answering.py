"""Reserve, execute, add noise, settle: the order in which nothing can be lost and nothing leaks."""

from __future__ import annotations

import datetime as dt
import json
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from giveortake.answers import Answer, Column
from giveortake.compile import Release, combined, evaluated, measurement
from giveortake.compile.measurement import key_rows, with_keys
from giveortake.engines import Keys
from giveortake.errors import LedgerMismatch, QueryFailed, Unprovable
from giveortake.exact import open_probability
from giveortake.session.postprocessing import arranged

if TYPE_CHECKING:
    from giveortake.compile import Measurement, Spend
    from giveortake.exact import Number
    from giveortake.ledger import Reservation
    from giveortake.plan import Value
    from giveortake.session.session import Session

ENTROPY = "the operating system's generator; a guarantee assumes ideal coins, which makes it computational"


def answer(session: Session, made: Measurement, spend: Spend, confidence: Number, key: str | None) -> Answer:
    """Charge, ask, and answer; or give the stored answer to the same question at the same price."""
    sure = open_probability("confidence", confidence)
    reservation = reserve(session, made, spend, key, [])
    keys, release = _released(session, made, reservation, None)
    return _answer(session, made, spend, keys, [release], reservation, sure, [])


def reserve(session: Session, made: Measurement, spend: Spend, key: str | None, chain: list[str]) -> Reservation:
    """The charge, durably, before a row is read. A table that changed is refused first, at no cost."""
    if not session.engine.unchanged():
        raise LedgerMismatch(
            f"the files of {session.name!r} have changed since they were protected",
            hint="call gt.protect again: what changed is a new version",
        )
    question = {"question": made.digest(), "spend": spend.to_json(), "refines": chain}
    return session.book.reserve(
        made.event,
        dataset=session.name,
        analyst=session.analyst,
        key=key,
        request=question,
        question=json.dumps(question, sort_keys=True),
        version=session.version,
    )


def _released(
    session: Session, made: Measurement, reservation: Reservation, known: Keys | None
) -> tuple[Keys, Release]:
    """The noisy integers: those that are kept in the ledger, or new ones that are kept before anyone sees them."""
    content = reservation.answer
    if not reservation.settled:
        content = session.book.settle(reservation, _executed(session, made, known))
    keys = known if known is not None else made.keys()
    if content["keys"] is not None and known is None:
        keys = with_keys(made, [tuple(_value(each) for each in row) for row in content["keys"]])
    return keys, Release.from_json(content["arrays"], made.noises)


def _executed(session: Session, made: Measurement, known: Keys | None) -> dict[str, Any]:
    found = None
    keys = made.keys() if known is None else known
    if made.selection is not None and known is None:
        found = made.find_keys(session.engine)
        keys = with_keys(made, found)
    release = made.release(session.engine, keys)
    if not session.engine.unchanged():
        raise QueryFailed("the files of the table changed while it was read; what was charged stands")
    return {
        "format": 1,
        "keys": None if found is None else [[_plain(value) for value in row] for row in found],
        "arrays": release.to_json(),
    }


def _answer(
    session: Session,
    made: Measurement,
    spend: Spend,
    keys: Keys,
    releases: list[Release],
    reservation: Reservation,
    confidence: Fraction,
    chain: list[str],
) -> Answer:
    rows = key_rows(keys)
    measures = combined(made.measures, releases)
    miss = float(1 - confidence)
    columns = [Column(column.name, [_shown(row[i]) for row in rows]) for i, column in enumerate(keys.columns)]
    for name, formula in made.formulas:
        each = evaluated(formula, measures, miss, len(rows))
        columns.append(Column(name, _listed(each.values), _listed(each.low), _listed(each.high)))
    shown = arranged(made, columns, rows, measures, miss)
    promise = made.event.guarantee(unit=session.budget.unit, neighbours=session.budget.neighbours)
    return Answer(
        shown,
        guarantee=promise,
        cost=promise,
        release_id=f"{session.name}/{reservation.number}",
        confidence=confidence,
        citations=tuple(dict.fromkeys(noise.citation for noise in made.noises)),
        recipe=recipe(session, made, spend),
        entropy=ENTROPY,
        notes=_notes(session, made, reservation),
        refine=lambda **options: refined(session, made, keys, releases, chain, reservation, confidence, options),
    )


def refined(
    session: Session,
    made: Measurement,
    keys: Keys,
    releases: list[Release],
    chain: list[str],
    before: Reservation,
    confidence: Fraction,
    options: dict[str, Any],
) -> Answer:
    """The same question once more, and both answers combined; keys that were found are public now."""
    from giveortake.compile import spend_of  # noqa: PLC0415
    from giveortake.errors import InvalidParameter  # noqa: PLC0415

    if any(measure.kind == "bins" for measure in made.measures):
        raise Unprovable("quantiles are not refined: their answers do not average", hint="ask anew at a higher price")
    key = options.pop("key", None)
    spend = spend_of(**{name: options.pop(name, None) for name in ("epsilon", "delta", "rho", "mu", "key_delta")})
    if spend is None or options:
        raise InvalidParameter("refine", sorted(options), "states no spend", hint='answer.refine(epsilon="0.1")')
    again = measurement(made.question, made.caps, made.stability.neighbours, spend, known=keys)
    links = [*chain, str(before.number)]
    reservation = reserve(session, again, spend, key, links)
    _, release = _released(session, again, reservation, keys)
    return _answer(session, again, spend, keys, [*releases, release], reservation, confidence, links)


def recipe(session: Session, made: Measurement, spend: Spend) -> dict[str, object]:
    """What was done, in words and numbers, without any coin."""
    steps: dict[str, object] = {"spend": str(spend)}
    if made.stability.bounding is not None or made.caps.total is not None:
        steps["contributions"] = str(made.caps)
    if made.selection is not None:
        steps["keys"] = (
            f"found in the data: shown if a noisy number of persons reaches {made.selection.mechanism.threshold}, "
            f"of at most {made.selection.touched} keys of each"
        )
    for measure, noise in zip(made.measures, made.noises, strict=True):
        steps[measure.name] = described(measure, noise)
    return steps


def described(measure: Any, noise: Any) -> str:
    """A measure's noise in words."""
    kind, scale = ("Laplace", noise.scale) if hasattr(noise, "scale") else ("Gaussian", noise.sigma)
    unit = float(scale * measure.granularity)
    levels = f", on each of {measure.levels} levels of a tree of bins" if measure.levels > 1 else ""
    return f"{kind} noise of scale {unit:.6g}{levels}"


def _notes(session: Session, made: Measurement, reservation: Reservation) -> tuple[str, ...]:
    notes = []
    if not reservation.charged:
        notes.append("asked before at this price: nothing was charged")
    if not session.durable:
        notes.append("the ledger is in memory only")
    if made.caps.total is not None:
        notes.append("sampled before the filter")
    return tuple(notes)


def _listed(values: Any) -> Any:
    if isinstance(values, np.ndarray) and values.dtype != object:
        return values
    return [int(value) for value in values]


def _shown(value: Value) -> Any:
    from decimal import Decimal  # noqa: PLC0415

    return Decimal(value.numerator) / Decimal(value.denominator) if isinstance(value, Fraction) else value


def _plain(value: Any) -> list[Any]:
    match value:
        case None:
            return ["null", ""]
        case bool():
            return ["bool", str(int(value))]
        case int():
            return ["int", str(value)]
        case str():
            return ["str", value]
        case dt.date() if not isinstance(value, dt.datetime):
            return ["date", value.isoformat()]
    return ["decimal", str(Fraction(value))]


def _value(content: list[Any]) -> Value:
    kind, text = content
    match kind:
        case "null":
            return None
        case "bool":
            return text == "1"
        case "int":
            return int(text)
        case "str":
            return str(text)
        case "date":
            return dt.date.fromisoformat(text)
    return Fraction(text)
