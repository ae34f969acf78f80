"""The questions as text, the same for us and for the floors but for the word CLAMP."""

from __future__ import annotations

QUANTILES = (0.25, 0.5, 0.75, 0.95)
FILTER = "day < 180 AND amount > 20"
EPSILON, KEY_DELTA = "1", "1e-7"  # of every answer that is timed, the same for all; δ where keys are found
GROUPS, ROWS = 5, 3
KEPT_ROWS = 15
_SUMS = "COUNT(*) AS n, SUM({amount}) AS total, AVG({amount}) AS mean"
OURS = _SUMS.format(amount="CLAMP(amount, 0, 100)")
PLAIN = _SUMS.format(amount="least(greatest(amount, 0), 100)")


def by_region() -> str:
    return "SELECT region, COUNT(*) AS n FROM payments GROUP BY region"


def by_category(sums: str, where: str = "") -> str:
    return f"SELECT category, {sums} FROM payments{where and ' '}{where} GROUP BY category"


def by_other_key(sums: str) -> str:
    return f"SELECT region, {sums} FROM payments WHERE {FILTER} GROUP BY region"


def by_category_and_day() -> str:
    return "SELECT category, day, COUNT(*) AS n FROM payments GROUP BY category, day"


def quantiles(function: str) -> str:
    each = ", ".join(f"{function}(amount, {level}) AS q{100 * level:.0f}" for level in QUANTILES)
    return f"SELECT region, {each} FROM payments GROUP BY region"
