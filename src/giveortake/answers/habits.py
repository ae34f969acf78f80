"""What other libraries call the things that answers and their columns have, and what to write instead."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

_NUMBERS = 'answer.to_pandas()["n"] can be computed with; inside a question it keeps its interval: gt.sum("fee") * 2'
_OF_ANSWERS: Mapping[str, str] = {
    **dict.fromkeys(("head", "tail", "iloc", "loc", "sample"), "print(answer) shows its head; answer.rows()[:5]"),
    **dict.fromkeys(("shape", "size"), "len(answer), len(answer.columns)"),
    **dict.fromkeys(("to_df", "df", "to_frame", "toPandas", "pandas"), "answer.to_pandas(), answer.to_polars()"),
    **dict.fromkeys(("margin", "margins", "error", "errors"), 'answer["n"].margins; answer.low and answer.high of one'),
    **dict.fromkeys(("epsilon", "delta", "price"), "answer.cost is what it cost, answer.guarantee the promise"),
    **dict.fromkeys(("values", "to_numpy"), 'answer["n"].values; answer.value of one estimate'),
    **dict.fromkeys(("interval", "confidence_interval", "ci"), 'answer.low, answer.high; answer["n"].low of a column'),
    **dict.fromkeys(("save", "write_csv"), 'answer.to_csv("answer.csv")'),
    "id": "answer.release_id",
    "dtypes": "answer.columns",
}
_OF_COLUMNS: Mapping[str, str] = {
    **dict.fromkeys(("mean", "sum", "min", "max", "median", "std", "round", "sort_values", "head", "plot"), _NUMBERS),
    **dict.fromkeys(("tolist", "to_list"), "list(column)"),
    **dict.fromkeys(("to_numpy", "array"), "column.values"),
    "margin": "column.margins",
}


def instead_of_answer(name: str, columns: list[str]) -> str | None:
    """What to write for an attribute that answers do not have; None if nobody knows what was meant."""
    return f'columns are taken by name: answer["{name}"]' if name in columns else _OF_ANSWERS.get(name)


def instead_of_column(name: str) -> str | None:
    """The same for columns of answers."""
    return _OF_COLUMNS.get(name)


def no_arithmetic() -> TypeError:
    """What an operator beside a column raises."""
    return TypeError(f"a column of an answer is not computed with\n\n  hint: {_NUMBERS}")
