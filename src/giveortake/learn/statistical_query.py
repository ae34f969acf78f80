"""The oracle of the statistical-query model [Kea98, BDMN05]: the mean of a bounded number, to a stated tolerance.

Whatever learns from such means alone learns privately: each answer is one release behind the session's filter, and the
next question may depend on all earlier answers.
"""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from statistics import NormalDist
from typing import TYPE_CHECKING, Any, ClassVar, final

from giveortake.answers import Answer, Estimate
from giveortake.arguments import told_by_name
from giveortake.compile import Spend
from giveortake.engines import Component
from giveortake.engines.questions import LONGEST
from giveortake.errors import InvalidParameter, QueryRefused
from giveortake.exact import decimal, open_probability, positive, whole
from giveortake.frame.expressions import column_or_expression
from giveortake.learn.base import FitContext, FitPlan
from giveortake.learn.moments import Moments
from giveortake.learn.noisy_sums import charge, one, value, vector_sum
from giveortake.plan import Call, Kind, Literal
from giveortake.session.learning_data import LearningData, served_to_asker

if TYPE_CHECKING:
    from giveortake import frame
    from giveortake.engines import VectorSum
    from giveortake.exact import Number
    from giveortake.frame import Expr
    from giveortake.learn.noisy_sums import NoisySums
    from giveortake.plan import Expression
    from giveortake.session import Session

_GRAIN = 1 << 20
_FINEST = 1 << 20  # steps of 1


@told_by_name({"tolerance": 'tolerance="0.01"'})
@served_to_asker
def statistical_query(
    s: Session | frame.Table,
    expression: Expr | str,
    *,
    tolerance: Number,
    confidence: Number = "0.95",
    n: int | Estimate | Answer | Moments | None = None,
    key: str | None = None,
) -> Estimate:
    """The mean of an expression over all rows that have a value, within `tolerance` as often as `confidence` says.

    Guarantee: the price follows from the tolerance and from `n`, a lower bound of the number of rows that is public or
    was released: a number, an answer to COUNT(*), whose lower end counts, moments, or else a profile that was paid for.
    Without one it is refused before any charge: a price from the true number would show it. The sum S and the number N
    are released together, with noise of deviation σ on numbers between -1 and 1. For the mean m, the answer is farther
    from m than t only if ±(e − m·e′) > t·(N + e′) for the noises e, e′: two normal numbers of deviation at most
    σ·√(1 + (1 + t)²), against t·N ≥ t·n. Fewer rows than n cost accuracy, never privacy. It is the mean of the rows,
    not of those that they are a sample of.
    """
    data = LearningData.of(s)
    sure = open_probability("confidence", confidence)
    plan = MeanPlan.for_tolerance(data, column_or_expression(expression), positive("tolerance", tolerance), sure, n)
    request = plan.request()
    with charge(request, key) as noisy_sums:
        mean = plan.learn(noisy_sums)
        low, high = max(plan.low, mean - plan.tolerance), min(plan.high, mean + plan.tolerance)
        return Estimate(
            *(float(number) for number in (mean, low, high)),
            name="mean",
            guarantee=request.promise,
            cost=request.promise,
            release_id=noisy_sums.release_id,
            confidence=sure,
            notes=(f"the tolerance holds if there are {plan.n:,} rows at least",),
        )


@final
class MeanPlan(FitPlan):
    """One pass: the number of rows, and the sum of a number between -1 and 1."""

    stored_name: ClassVar[str] = "MeanTask"

    def __init__(self, context: FitContext, scaled: Expression, low: Fraction, high: Fraction, *, n: int) -> None:
        self.context, self.scaled, self.low, self.high, self.n = context, scaled, low, high, n
        self.shares = {"mean": Fraction(1)}
        self.tolerance = Fraction(0)
        self.steps = _FINEST
        while 2 * self.steps * context.rows > LONGEST:
            self.steps //= 2

    @classmethod
    def for_tolerance(
        cls,
        data: LearningData,
        expression: Expression,
        tolerance: Fraction,
        sure: Fraction,
        n: int | Estimate | Answer | Moments | None,
    ) -> MeanPlan:
        """Check what was stated, and plan the noise that the tolerance asks for."""
        domain = expression.domain(data.schema)
        low, high = Fraction(0), Fraction(1)
        if domain.kind is Kind.BOOLEAN:
            expression = Call("case", (expression, Literal(Fraction(1)), Literal(Fraction(0))))
        elif domain.is_bounded:
            low, high = domain.ends()
        if domain.kind is not Kind.BOOLEAN and not (domain.is_bounded and low < high):
            raise InvalidParameter(
                "expression", shown_expression(expression), "has no bounds", hint='clamp it: gt.col("x").clamp(0, 10)'
            )
        if not tolerance < (high - low) / 2:
            raise InvalidParameter("tolerance", str(tolerance), f"is no less than half of {decimal(high - low)}")
        condition = Call("not", (Call("is_null", (expression,)),)) if domain.nullable else None
        miss = 1 - sure
        least = _least(data, n, 1 - miss / 10)
        noise_miss = miss if isinstance(n, int) else miss * 9 / 10
        context = FitContext.from_parameters(data, {"mu": 1}, None, condition)
        share = Call("multiply", (Call("subtract", (expression, Literal(low))), Literal(2 / (high - low))))
        plan = cls(context, Call("subtract", (share, Literal(Fraction(1)))), low, high, n=least)
        plan._spend(tolerance, noise_miss)
        return plan

    def _spend(self, tolerance: Fraction, miss: Fraction) -> None:
        """Set the least μ, rounded up, at which the noise stays within the tolerance."""
        self.tolerance = tolerance
        within = float(2 * tolerance / (self.high - self.low)) - 1 / self.steps  # the lattice moves a value by half
        if within <= 0:
            raise InvalidParameter("tolerance", str(tolerance), "is too small for so many rows of a person")
        away = NormalDist().inv_cdf(1 - float(miss) / 2) * math.sqrt(1 + (1 + within) ** 2)
        sigma = within * self.n * self.steps / away
        changed = self.context.data.budget.neighbours == "change-one"
        moved = math.sqrt(self.known()[0].moved_squared(changed=changed))
        mu = Fraction(math.ceil(moved / sigma * (1 + 2**-16) * _GRAIN), _GRAIN)
        self.context = replace(self.context, spend=Spend(mu=mu))

    def known(self) -> list[VectorSum]:
        values = [one(1, self.steps), value(self.scaled, -1, 1, self.steps)]
        return [vector_sum(self.context.relation, values, [Component((0,)), Component((1,))], self.context.rows)]

    def names(self) -> dict[str, Any]:
        return {"expression": self.scaled.to_json(), "steps": self.steps}

    def words(self) -> str:
        return "a mean"

    def learn(self, noisy_sums: NoisySums) -> Fraction:
        released = noisy_sums.add_up("mean", self.known()[0], self.shares["mean"])
        count, total = released.cells(0)[0], released.cells(1)[0]
        mean = Fraction(min(max(total / count, -1.0), 1.0)) if count > 0 else Fraction(0)
        return self.low + (mean + 1) / 2 * (self.high - self.low)


def _least(data: LearningData, n: int | Estimate | Answer | Moments | None, sure: Fraction) -> int:
    """A lower bound of the number of rows that is public or was released."""
    if isinstance(n, Moments):
        least_rows: float | None = n.n - NormalDist().inv_cdf(float(sure)) * n.noise
    elif isinstance(n, Estimate | Answer):
        low: Any = n.columns[-1].low
        if len(n) != 1 or low is None:
            raise InvalidParameter(
                "n", f"{len(n)} rows", "is not a single count with an interval", hint="SELECT COUNT(*)"
            )
        least_rows = float(low[0])
    else:
        least_rows = data.rows_at_least(sure) if n is None else whole("n", n)
    if least_rows is None:
        raise QueryRefused(
            "nothing public or released says how many rows there are at least, and a price from their true number "
            "would tell it",
            hint="n=10_000, if that is public; or ask for a count first, and say n=count",
        )
    if least_rows < 1:
        raise QueryRefused(
            "the released count does not show that there is even one row", hint="n=10_000, if that is public"
        )
    return math.floor(least_rows)


def shown_expression(expression: Expression) -> str:
    """An expression as it is written in code."""
    from giveortake.frame import Expr  # noqa: PLC0415 (for its text alone)

    return repr(Expr(expression))
