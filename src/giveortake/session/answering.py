"""Reserve, execute, add noise, settle: the order in which nothing can be lost and nothing leaks."""

from __future__ import annotations

import json
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, final

import numpy as np

from giveortake.answers import Answer, Column, Stream
from giveortake.compile import Release, combined, evaluated, measurement, spend_of
from giveortake.compile.keys import key_rows
from giveortake.errors import (
    BudgetExceeded,
    GiveOrTakeError,
    InvalidParameter,
    LedgerMismatch,
    QueryFailed,
    QueryRefused,
    Unpriced,
    Unprovable,
)
from giveortake.exact import exact_decimal, open_probability, shown
from giveortake.plan import Kind
from giveortake.session import keeping
from giveortake.session.postprocessing import arranged

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from giveortake.answers.column import Kind as Face
    from giveortake.compile import Measurement, Spend
    from giveortake.engines import Keys
    from giveortake.exact import Number
    from giveortake.ledger import Reservation
    from giveortake.plan import Value
    from giveortake.privacy.events import Event
    from giveortake.session.session import Session

_FACES: dict[Kind, Face] = {
    Kind.INTEGER: "integer",
    Kind.DECIMAL: "decimal",
    Kind.REAL: "float",
    Kind.TEXT: "text",
    Kind.BOOLEAN: "truth",
    Kind.DATE: "date",
    Kind.TIMESTAMP: "time",
}
ENTROPY = "the operating system's generator; a guarantee assumes ideal coins, which makes it computational"


def answer(session: Session, made: Measurement, spend: Spend, confidence: Number, key: str | None) -> Answer:
    """Charge, ask, and answer; or give the stored answer to the same question at the same price."""
    (only,) = answers(session, [(made, spend)], confidence, key)
    return only


def answers(
    session: Session, asked: Sequence[tuple[Measurement, Spend]], confidence: Number, key: str | None
) -> list[Answer]:
    """Several questions under one charge: all are paid, durably, before the first of them is asked."""
    sure = open_probability("confidence", confidence)
    reservation = _reserve(session, asked, key, ())
    found = _released(session, [made for made, _ in asked], reservation, None)
    return [
        _Asked(session, made, spend, keys, (release,), reservation, sure).answer()
        for (made, spend), (keys, release) in zip(asked, found, strict=True)
    ]


def stream(session: Session, made: Measurement, spend: Spend, confidence: Number, key: str | None) -> Stream:
    """The same as `answer`, but the table is read from where it is kept, some keys at a time."""
    if made.question.order:
        raise QueryRefused("ORDER BY needs the whole table at once", hint="sort where the stream is written to")
    sure = open_probability("confidence", confidence)
    reservation = _reserve(session, [(made, spend)], key, ())
    (part,) = _kept(session, [made], reservation, None)

    def answers_in_order() -> Iterator[Answer]:
        left = made.question.limit
        for keys, release in keeping.some_at_a_time(session.spool, made, part):
            each = _Asked(session, made, spend, keys, (release,), reservation, sure).answer(limit=left)
            left = None if left is None else left - len(each)
            yield each
            if left == 0:
                return

    return Stream(answers_in_order)


def _reserve(
    session: Session, asked: Sequence[tuple[Measurement, Spend]], key: str | None, chain: tuple[str, ...]
) -> Reservation:
    """The charge, durably, before a row is read. What the engine cannot run, or a changed table, is refused first."""
    session.engine.require_runnable(question for made, _ in asked for question in made.asked())
    if not session.engine.unchanged():
        raise LedgerMismatch(
            f"the table {session.name!r} has changed since it was protected",
            hint="call gt.protect again: what changed is a new version",
        )
    question = {
        "questions": [[made.digest(), spend.to_json()] for made, spend in asked],
        "refines": list(chain),
        "part": session.part_name(),
    }
    event = session.charged([made for made, _ in asked])
    try:
        return _charged(session, event, question, key)
    except BudgetExceeded as refusal:
        raise too_dear(session, [made for made, _ in asked], [spend for _, spend in asked], refusal) from None


def too_dear(
    session: Session, asked: Sequence[Measurement], spends: Sequence[Spend], refusal: BudgetExceeded
) -> BudgetExceeded:
    """The refusal in the terms in which the question was asked."""
    costs = " and ".join(str(spend) for spend in spends)
    left = session.affordable or Fraction(0)
    message = f"{costs} does not fit the budget of the {session.population} any more; nothing was charged"
    hint = f"a pure ε of up to {shown(left, 4)} would fit; the owner can raise the budget"
    pot = session.remaining.get("δ") if isinstance(session.remaining, dict) else None
    needed = sum((made.selection.event().delta for made in asked if made.selection is not None), Fraction(0))
    if isinstance(refusal, Unpriced) or session.analyst is not None:  # whose own cap it may be
        message, hint = refusal.message, refusal.hint or ""
    elif pot is not None and needed > pot:
        message = f"finding keys takes δ = {shown(needed)}, and {shown(pot)} of that is left; nothing was charged"
        hint = "declare the domain of the grouping columns, or pass a smaller key_delta="
    return type(refusal)(message, cost=refusal.cost, remaining=refusal.remaining, hint=hint)


def _charged(session: Session, event: Event, question: dict[str, Any], key: str | None) -> Reservation:
    return session.book.reserve(
        event,
        dataset=session.name,
        analyst=session.analyst,
        key=key,
        request=question,
        question=json.dumps(question, sort_keys=True),
        version=session.version,
    )


def _released(
    session: Session, asked: Sequence[Measurement], reservation: Reservation, known: Keys | None
) -> list[tuple[Keys, Release]]:
    """The noisy integers: those that are kept in the ledger, or new ones that are kept before anyone sees them."""
    parts = _kept(session, asked, reservation, known)
    return [keeping.whole(session.spool, made, part, known) for made, part in zip(asked, parts, strict=True)]


def _kept(
    session: Session, asked: Sequence[Measurement], reservation: Reservation, known: Keys | None
) -> list[keeping.Part]:
    content = reservation.answer
    if not reservation.settled:
        names = [keeping.drawn_name(session, made, f"{reservation.number}-{place}") for place, made in enumerate(asked)]
        parts = [_executed(session, made, known, name) for made, name in zip(asked, names, strict=True)]
        content = session.book.settle(reservation, {"format": keeping.FORMAT, "parts": parts})
        settled_parts = keeping.parts_of(content, len(asked))
        for made, name, part, settled in zip(asked, names, parts, settled_parts, strict=True):
            if made.selection is not None:
                session.spool.forget(name)
            if "spool" in part and part != settled:  # somebody else was faster, and theirs is the answer
                session.spool.forget(part["spool"]["file"])
    return keeping.parts_of(content, len(asked))


def _executed(session: Session, made: Measurement, known: Keys | None, name: str) -> keeping.Part:
    """What went wrong after something was drawn is told by our own errors alone: others may quote keys."""
    try:
        return keeping.executed(session, made, known, name)
    except GiveOrTakeError:
        raise
    except Exception:  # noqa: BLE001, S110 (raised below, without a trace of what was drawn)
        pass
    raise QueryFailed(
        "the answer could not be completed; what it was charged stands", hint="ask for less at once, or otherwise"
    )


@final
@dataclass(frozen=True, slots=True, eq=False)
class _Asked:
    """A question that is paid for, and everything that was released to it so far."""

    session: Session
    made: Measurement
    spend: Spend
    keys: Keys
    releases: tuple[Release, ...]
    reservation: Reservation
    confidence: Fraction
    chain: tuple[str, ...] = ()

    def answer(self, limit: int | None = None) -> Answer:
        """The answer that follows from the releases; all of this is post-processing."""
        rows = key_rows(self.keys)
        measures = combined(self.made.measures, self.releases)
        miss = float(1 - self.confidence)
        schema = self.made.question.relation.schema
        columns = [
            Column(each.name, [_shown(row[i]) for row in rows], kind=_FACES[each.expression.domain(schema).kind])
            for i, each in enumerate(self.keys.columns)
        ]
        for name, formula in self.made.formulas:
            each = evaluated(formula, measures, miss, len(rows))
            columns.append(Column(name, _listed(each.values), _listed(each.low), _listed(each.high)))
        budget = self.session.budget
        promise = self.made.promise(self.spend, budget.unit)
        return Answer(
            arranged(self.made, columns, rows, measures, miss, limit=limit),
            guarantee=promise,
            cost=promise,
            release_id=f"{self.session.name}/{self.reservation.number}",
            confidence=self.confidence,
            citations=tuple(dict.fromkeys(noise.citation for noise in self.made.noises)),
            recipe=recipe(self.made, self.spend),
            entropy=ENTROPY,
            notes=_notes(self.session, self.made, self.reservation),
            refine=self.refine,
        )

    def refine(
        self,
        *,
        epsilon: Number | None = None,
        delta: Number | None = None,
        rho: Number | None = None,
        mu: Number | None = None,
        key: str | None = None,
    ) -> Answer:
        """The same question once more, and all answers combined; keys that were found are public now."""
        if any(measure.kind == "bins" for measure in self.made.measures):
            raise Unprovable("quantiles are not refined: their answers do not average", hint="ask anew, for more")
        spend = spend_of(epsilon, delta, rho, mu, None)
        if spend is None:
            raise InvalidParameter("epsilon", None, "is missing", hint='answer.refine(epsilon="0.1")')
        made = self.made
        again = measurement(made.question, made.caps, made.stability.neighbours, spend, known=self.keys)
        links = (*self.chain, str(self.reservation.number))
        reservation = _reserve(self.session, [(again, spend)], key, links)
        ((_, release),) = _released(self.session, [again], reservation, self.keys)
        releases = (*self.releases, release)
        return _Asked(self.session, again, spend, self.keys, releases, reservation, self.confidence, links).answer()


def recipe(made: Measurement, spend: Spend) -> dict[str, object]:
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
    if made.selection is not None:
        least = made.selection.mechanism.threshold
        notes.append(f"only keys that about {least:,} persons or more share are shown; declared domains show all")
    if made.caps.total is not None:
        notes.append(f"{made.caps}")
    left_out = session.left_out()
    if left_out is not None:
        notes.append(left_out)
    return tuple(notes)


def _listed(values: Any) -> Any:
    if isinstance(values, np.ndarray) and values.dtype != object:
        return values
    return [int(value) for value in values]


def _shown(value: Value) -> Any:
    return exact_decimal(value) if isinstance(value, Fraction) else value
