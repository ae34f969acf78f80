"""Workloads on the way of every question: price → reserve → draw → settle → read, under one charge."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Any, Unpack, final, get_args

from giveortake.compile import Spend, Terms
from giveortake.compile.postprocessing import ENTROPY
from giveortake.engines.failures import failure
from giveortake.errors import BudgetExceeded, InvalidParameter
from giveortake.exact import positive
from giveortake.session.mechanism import Charge
from giveortake.session.refusals import too_dear
from giveortake.session.sealed_draws import sealed_question
from giveortake.session.stored_answers import MANY
from giveortake.session.workload_quotes import WorkloadQuote
from giveortake.workload.asked import AskedWorkload
from giveortake.workload.errors_of_tables import lines_of
from giveortake.workload.measurement import measured
from giveortake.workload.planner import Goal
from giveortake.workload.results import POST_PROCESSED, WorkloadAnswer

if TYPE_CHECKING:
    from giveortake.answers.cap_terms import AskTerms
    from giveortake.ledger import Reservation
    from giveortake.plan import Relation
    from giveortake.session.mechanism import InteractiveMechanism
    from giveortake.workload.declared import Workload
    from giveortake.workload.measurement import WorkloadMeasurement

_WITHOUT = ("key_delta", "n", "share", "groups_per_person", "rows_per_group", "caps")


@final
class WorkloadQuery:
    """Tables that are asked for together: quoted for free, answered under one charge.

    The terms are those of `quote` and `answer` alike: a pure `epsilon` (Laplace noise, the best of a few strategies);
    or `epsilon` and `delta`, `rho`, or `mu` (Gaussian noise on residuals); or the least that reaches a `margin` in
    every table. `confidence` and `confidence_over` say how sure intervals are, each for itself or all of the workload
    together; `rows_per_person` how many rows of a person count.
    """

    def __init__(self, mechanism: InteractiveMechanism, workload: Workload, relation: Relation, minimise: str) -> None:
        if minimise not in get_args(Goal):
            raise InvalidParameter("minimise", minimise, "is unknown", hint='minimise="rms", or minimise="maximum"')
        self.workload = workload
        self.minimise: Any = minimise
        self._mechanism = mechanism
        self._relation = relation

    def quote(self, **terms: Unpack[AskTerms]) -> WorkloadQuote:
        """What an answer would cost, and how sure every table would be, beside an equal split. No row is read."""
        said = Terms.of(terms, without=_WITHOUT)
        made = self._priced(said)
        lines = lines_of(made.asked, made.design, self._miss(made, said))
        return WorkloadQuote(
            str(made.spend),
            made.event.guarantee(unit=self._mechanism.budget.unit, neighbours=self._mechanism.budget.neighbours),
            made.design.name,
            tuple(lines),
            float(said.confidence),
            self._mechanism.admits(self._charge(made).event),
        )

    def answer(self, *, key: str | None = None, **terms: Unpack[AskTerms]) -> WorkloadAnswer:
        """All tables, under one charge. `key` makes a retry safe; the same workload at the same price is free then."""
        said = Terms.of(terms, without=_WITHOUT)
        made = self._priced(said)
        mechanism, charge = self._mechanism, self._charge(made)

        def reserve() -> Reservation:
            try:
                return mechanism.reserve_charge(charge, key)
            except BudgetExceeded as refusal:
                raise too_dear(mechanism, str(made.spend), charge.event, Fraction(0), refusal) from None

        def draw(reservation: Reservation) -> Any:
            return sealed_question(lambda: mechanism.ledger.settle(reservation, self._drawn(made)))

        reservation, content = mechanism.draw_once(charge, reserve, draw)
        return self._read(made, said, reservation, reservation.answer if content is None else content)

    # -- the way there ------------------------------------------------------------------------------------------

    def _priced(self, said: Terms) -> WorkloadMeasurement:
        mechanism = self._mechanism
        caps = mechanism.resolve_caps(said)
        asked = AskedWorkload.of(self.workload, self._relation, caps, mechanism.budget.neighbours)
        mechanism.origin.require(asked.attributes.question(self._relation, self._sums(asked)))
        spend = said.spend
        if said.margin is not None:
            spend = self._least_spend(asked, said)
        if spend is None:
            raise InvalidParameter(
                "epsilon", None, "is missing: say what the answer may cost", hint='rho="1/100", or epsilon="1"'
            )
        made = measured(asked, spend, self.minimise)
        mechanism.engine.require_runnable(made.questions())
        return made

    def _sums(self, asked: AskedWorkload) -> list[str]:
        return [layer.of for layer in asked.layers if layer.of is not None]

    def _least_spend(self, asked: AskedWorkload, said: Terms) -> Spend:
        """Margins of Gaussian noise fall as μ rises: one plan tells the μ of every other."""
        wanted = float(positive("margin", said.margin or 0))
        once = measured(asked, Spend(mu=Fraction(1)), self.minimise)
        widest = max(line["margin"] for line in lines_of(asked, once.design, self._miss(once, said)))
        return Spend(mu=Fraction(widest / wanted * (1 + 2**-20)).limit_denominator(10**12))

    def _miss(self, made: WorkloadMeasurement, said: Terms) -> float:
        return said.confidence.miss(made.asked.cells)

    def _charge(self, made: WorkloadMeasurement) -> Charge:
        part = self._mechanism.part
        request = {**made.named(), "part": None if part is None else part.name(made.asked.caps)}
        event = made.event
        if part is not None:
            event = part.event(event, event, part.partition(made.asked.caps))  # a row that is left out costs no more
        return Charge(event, request, made.told())

    def _drawn(self, made: WorkloadMeasurement) -> Any:
        mechanism = self._mechanism
        content = made.draw(mechanism.engine)
        if not mechanism.engine.unchanged():
            raise failure("changed")
        if made.asked.cells > MANY:
            return {"spool": mechanism.spool.write([content])}
        return content

    def _read(self, made: WorkloadMeasurement, said: Terms, reservation: Reservation, content: Any) -> WorkloadAnswer:
        mechanism = self._mechanism
        if "spool" in content:
            (content,) = mechanism.spool.read(content["spool"])
        release = made.read(content)
        promise = made.event.guarantee(unit=mechanism.budget.unit, neighbours=mechanism.budget.neighbours)
        person = made.asked.question.relation.person
        notes = [] if reservation.charged else ["asked before at this price: nothing was charged"]
        notes.append(f"rows with an undeclared value of {', '.join(made.asked.attributes.names)} are left out of all")
        if person is not None:
            notes.append(f"up to {made.asked.rows:,} rows of a person count; rows without a {person} are left out")
        if any(layer.of is None for layer in made.asked.layers) or made.asked.ranges:
            notes.append(POST_PROCESSED)
        provenance = {
            "guarantee": promise,
            "cost": promise,
            "release_id": reservation.id,
            "citations": release.design.citations,
            "recipe": {"spend": str(made.spend), "strategy": release.design.name},
            "entropy": ENTROPY,
            "notes": tuple(notes),
        }
        return WorkloadAnswer(release, said.confidence, provenance)

    def __repr__(self) -> str:
        return f"<WorkloadQuery of {self._mechanism.dataset}: {self.workload!r}>"
