"""Answers and reports as columns of text, which is what CSV files hold."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from giveortake.errors import HIDDEN, DamagedReports, ForeignReports, InvalidParameter
from giveortake.local.frequencies import FrequencyOracle
from giveortake.local.mean import Mean
from giveortake.local.poll import Poll

if TYPE_CHECKING:
    from collections.abc import Sequence

    from giveortake.local.oracle import Oracle
    from giveortake.local.reports import Reports

_SPELLINGS = {"yes": True, "true": True, "1": True, "no": False, "false": False, "0": False}


def answers_of(survey: Oracle, texts: Sequence[str]) -> list[Any]:
    """What a column of texts answers; a text that is no answer is refused, and not quoted.

    >>> answers_of(Poll(truth="1/2"), ["yes", "No", "1"])
    [True, False, True]
    """
    if isinstance(survey, Poll):
        return [_found(_SPELLINGS, text.strip().lower()) for text in texts]
    if isinstance(survey, FrequencyOracle):
        known = {str(category): category for category in survey.categories}
        return [_found(known, text) for text in texts]
    if isinstance(survey, Mean):
        try:
            return [float(text) for text in texts]
        except ValueError:
            raise InvalidParameter("answer", HIDDEN, "is not a number") from None
    return list(texts)


def report_rows(reports: Reports) -> list[tuple[str, str]]:
    """One row for each report: the survey's fingerprint, and the report as text."""
    data = reports.data
    texts = [str(item) for item in data.tolist()] if data.ndim == 1 else [bytes(row).hex() for row in data]
    return [(reports.survey, text) for text in texts]


def reports_of(survey: Oracle, rows: Sequence[tuple[str, str]]) -> Reports:
    """The reports in such rows, if all of them were made for this survey."""
    for fingerprint, _ in rows:
        if fingerprint != survey.fingerprint:
            raise ForeignReports(
                f"a report belongs to survey {fingerprint[:8]}, and this is {survey.fingerprint[:8]}",
                hint="estimate reports with the parameters they were made with",
            )
    texts = [text for _, text in rows]
    if not all(text.isascii() for text in texts):
        raise DamagedReports("a report holds letters that no report has")
    return survey.received(texts)


def _found(known: dict[str, Any], text: str) -> Any:
    if text not in known:
        shown = ", ".join(list(known)[:10])
        raise InvalidParameter("answer", HIDDEN, f"is not one of {shown}")
    return known[text]
