"""Releases are listed, looked up by their ids, read again for free, and refined; the ledger keeps the question."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from golden_requests import PURCHASES, golden_session

import giveortake as gt
from cases import all_cases
from giveortake import codec
from giveortake.answers import Answer
from giveortake.compile import Measurement, Spend, Terms
from giveortake.errors import InvalidParameter, LedgerMismatch, NotFound, QueryFailed, Unprovable
from giveortake.session import Session
from giveortake.session.kinds.queries import RefinementRequest
from giveortake.session.releases import paid_release
from giveortake.session.session import mechanism_of, query_of_plan
from giveortake.workload.results import WorkloadAnswer
from inside import tables_of
from small_session import COUNT, DOMAINS, FOUND, ROWS, charges_of, small_session
from tiers import tiered

TOTAL = "SELECT COUNT(*) AS n FROM data"
AVERAGE = "SELECT r, AVG(x) AS m FROM data WHERE q <> 'q7' GROUP BY r HAVING AVG(x) > 0 ORDER BY m DESC"


def is_same(one: Answer, other: Answer) -> bool:
    return one.to_json() == other.to_json() and Answer.from_json(one.to_json()).to_json() == other.to_json()


def of_every_kind(s: Session) -> dict[str, Answer]:
    """Answers in both languages, of each kind of spend, with found keys, refined, streamed and in a part."""
    asked = {
        "sql": s.sql(AVERAGE).answer(epsilon=1, confidence="0.9", confidence_over="answer"),
        "keys": s.sql(FOUND).answer(epsilon=1, delta="1e-6"),
        "pure keys": s.sql(FOUND).answer(epsilon=2, key_delta="1e-6"),
        "share": s.sql(COUNT).answer(share="1/100"),
        "caps": s.sql(COUNT).answer(mu=1, rows_per_person=2),
        "frame": s.table().filter(gt.col("x").isin([1, 2, 3])).group_by("r").agg(m=gt.median("x")).answer(rho=1),
        "part": s.partition("r")["south"].sql("SELECT COUNT(*) AS n, SUM(x) AS a FROM data").answer(epsilon=1),
    }
    asked["refined"] = asked["keys"].refine(epsilon=1)
    asked["refined twice"] = asked["refined"].refine(mu="1/2", confidence="0.99")
    return asked


def test_an_answer_is_read_again_by_its_id_as_it_was_and_for_free(tmp_path: Path) -> None:
    said: Any = {"ledger": tmp_path / "people.ledger", "name": "data"}
    with small_session(**said) as s:
        asked = of_every_kind(s)
        batch = s.batch([COUNT, s.table().agg(n=gt.count())]).answer(epsilon=1, delta="1e-6")
        s.profile().answer(epsilon=1)  # what it tells of caps came later, and is no part of the answers
        charged = charges_of(s)
    with small_session(**said) as s:
        for name, answer in asked.items():
            assert is_same(s.release(answer.release_id or ""), answer), name
        for place, answer in enumerate(batch):
            assert is_same(s.release(answer.release_id or "", index=place), answer)
        assert charges_of(s) == charged


def test_an_answer_is_refined_by_its_id_as_it_would_have_been_by_itself() -> None:
    with small_session() as s:
        for answer in of_every_kind(s).values():
            if "m" in [column.name for column in answer.columns] and "q" not in [c.name for c in answer.columns]:
                continue  # a quantile or a mean with HAVING: told elsewhere
            by_id = s.release(answer.release_id or "").refine(epsilon=1, key=f"again {answer.release_id}")
            charged = charges_of(s)
            assert by_id.to_dict() == answer.refine(epsilon=1).to_dict()
            assert by_id.guarantee == answer.refine(epsilon=1).guarantee
            assert charges_of(s) == charged


def test_releases_are_listed_in_order_and_by_pages() -> None:
    with small_session() as s:
        told = [s.sql(f"SELECT COUNT(*) AS n FROM data WHERE x > {limit}").answer(epsilon=1) for limit in range(5)]
        ids = [answer.release_id for answer in told]
        assert [each.id for each in s.releases()] == ids
        assert [each.id for each in s.releases(limit=2)] == ids[:2]
        assert [each.id for each in s.releases(after=ids[1], limit=2)] == ids[2:4]
        assert [each.id for each in s.releases(newest_first=True, limit=2)] == ids[:2:-1]
        assert [each.id for each in s.releases(after=ids[3], newest_first=True)] == ids[2::-1]
        for wrong in (0, -1, "many"):
            with pytest.raises(InvalidParameter):
                s.releases(limit=wrong)  # type: ignore[arg-type]  # (refused)
        with pytest.raises(NotFound):
            s.releases(after="0" * 24)


def test_the_ledger_keeps_the_text_the_plan_the_spend_and_the_caps_and_nothing_of_rows() -> None:
    secret = ROWS.with_columns(q=pl.lit("Rumpelstiltskin"))
    with small_session(secret) as s:
        s.sql("SELECT q, COUNT(*) AS n FROM data WHERE q <> 'visible' GROUP BY q").answer(epsilon=1, delta="1e-6")
        (only,) = s.releases()
    record = only.record
    (part,) = record["parts"]
    assert part["sql"].endswith("WHERE q <> 'visible' GROUP BY q")  # the analyst's words, which the custodian sees
    assert part["spend"]["epsilon"] == "1/1"
    assert part["caps"] == {"groups_per_person": 4, "rows_per_group": 4}
    assert "Rumpelstiltskin" not in json.dumps(record)
    assert (only.settled, only.failed, only.version) == (True, False, "1")


def test_what_a_record_holds_does_not_depend_on_rows() -> None:
    records = []
    for table in (ROWS, ROWS.filter(pl.col("p") != 7)):
        with small_session(table) as s:
            of_every_kind(s)
            releases = list(s.releases())
            text = json.dumps([release.record for release in releases])
            for index, release in enumerate(releases):  # ids are random; a refinement names what it refines
                text = text.replace(release.id, f"release {index}")
            records.append(text)
    assert records[0] == records[1]


def test_ids_that_name_nothing_of_this_table_are_refused_alike() -> None:
    with gt.ledger.open(":memory:") as book:
        other = gt.protect(
            ROWS.head(90),
            unit="p",
            budget=gt.PureDP(9),
            ledger=gt.ledger.at(book, new_population="others"),
            name="other",
        )
        with other, small_session(ledger=book, new_population="people") as s:
            theirs = other.sql("SELECT COUNT(*) AS n FROM other").answer(epsilon=1, rows_per_person=3)
            for name in (theirs.release_id, "0" * 24, "", "data/1"):
                with pytest.raises(NotFound):
                    s.release(name or "")


def test_a_batch_says_which_answer_is_meant() -> None:
    with small_session() as s:
        answers = s.batch([COUNT, FOUND]).answer(epsilon=1, delta="1e-6")
        release_id = answers[0].release_id or ""
        assert all(map(is_same, s.release(release_id), answers))
        for index in (2, -1, True):
            with pytest.raises(InvalidParameter, match="index"):
                s.release(release_id, index=index)


def test_a_refinement_of_one_question_of_a_batch_is_read_and_refined_as_that_question() -> None:
    with small_session() as s:
        batch = s.batch([COUNT, TOTAL]).answer(epsilon=1)
        for place, answer in enumerate(batch):
            refined = s.release(answer.release_id or "", index=place).refine(epsilon=1)
            assert is_same(s.release(refined.release_id or ""), refined)
            twice = s.release(refined.release_id or "").refine(epsilon=2)
            assert len(twice) == len(answer)
            assert is_same(s.release(twice.release_id or ""), twice)
            assert refined.refine(epsilon=2).to_dict() == twice.to_dict()  # which is what was paid for


def test_a_question_is_measured_at_its_own_keys_alone() -> None:
    with small_session() as s:
        mechanism, spend = mechanism_of(s), Spend(epsilon=Fraction(1))
        grouped, total = (
            paid_release(mechanism, s.sql(text).answer(epsilon=1).release_id or "", None) for text in (COUNT, TOTAL)
        )
        refined = RefinementRequest(grouped.reservation.id).bind(mechanism, Terms.of({"epsilon": 1}))
        assert refined.event_at(spend) == grouped.priced.event()
        at_other_keys = RefinementRequest(total.reservation.id, paid=replace(total, keys=grouped.keys)).bind(
            mechanism, Terms.of({"epsilon": 1})
        )
        with pytest.raises(Unprovable):
            at_other_keys.at(spend)


def test_a_charge_without_an_answer_lists_and_is_not_read(monkeypatch: pytest.MonkeyPatch) -> None:
    with small_session() as s:
        query = s.sql(COUNT)
        monkeypatch.setattr(Measurement, "release", _fails)
        with pytest.raises(QueryFailed):
            query.answer(epsilon=1)
        monkeypatch.undo()
        (only,) = s.releases()
        assert not only.settled
        with pytest.raises(NotFound):
            s.release(only.id)
        told = query.answer(epsilon=1)
        assert told.to_dict() == s.release(only.id).to_dict()


def _fails(*_: object, **__: object) -> None:
    raise QueryFailed("stopped")


def test_integers_are_not_read_by_other_bounds_than_they_were_drawn_by(tmp_path: Path) -> None:
    said: Any = {"ledger": tmp_path / "people.ledger", "name": "data"}
    text = "SELECT SUM(CLAMP(x, 0, 100)) AS a FROM data"
    with small_session(domains=None, **said) as s:
        told = s.sql(text).answer(epsilon=1)
        assert is_same(s.release(told.release_id or ""), told)
    with small_session(domains=DOMAINS, **said) as s:  # declared since: x lies in 0 to 10
        with pytest.raises(LedgerMismatch, match="other domains"):
            s.release(told.release_id or "")
        assert [each.id for each in s.releases()] == [told.release_id]


def test_a_release_about_an_earlier_version_is_read_and_not_refined(tmp_path: Path) -> None:
    said: Any = {"ledger": tmp_path / "people.ledger", "name": "data"}
    with small_session(**said) as s:
        told = s.sql(COUNT).answer(epsilon=1)
    with small_session(ROWS.head(100), **said) as s:
        assert is_same(s.release(told.release_id or ""), told)
        with pytest.raises(LedgerMismatch, match="version '1'"):
            s.release(told.release_id or "").refine(epsilon=1)


def test_what_keeps_no_question_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("giveortake.session.kinds.workloads.MOST_WISHES", 0)  # a workload that is too large
    with small_session(ledger=tmp_path / "people.ledger", name="data") as s:
        counted = s.workload(gt.workload.marginals(["r"])).answer(epsilon=1, rows_per_person=3)
        with pytest.raises(Unprovable):
            s.release(counted.release_id or "")


def test_a_plan_is_asked_as_it_was_written() -> None:
    with small_session() as s:
        query = s.table().filter(gt.col("x") > 2).group_by("r").agg(m=gt.mean("x"))
        again = query_of_plan(s, json.loads(json.dumps(query.plan())))
        assert again.question == query.question
        assert again.answer(epsilon=1).to_dict() == query.answer(epsilon=1).to_dict()
        assert charges_of(s) == 1


OF_EVERY_KIND = ("refinement", "batch", "workload", "counter", "profile", "part", "weights", "synthesis", "ridge")


@all_cases("name", tiered([*OF_EVERY_KIND, "clusters", "descent"], [*PURCHASES]))
def test_whatever_was_bought_is_read_by_its_id_as_it_was_and_nothing_is_written(name: str) -> None:
    with golden_session() as s:
        bought = list(PURCHASES[name](s))
        ledger = mechanism_of(s).ledger
        before = len(list(ledger.entries()))
        for record in s.releases():
            if not record.tables:
                _require_same_run(s.release(record.id), bought)
                continue
            numbers = Counter(number for answer in bought for number in _numbers(answer, record.id))
            assert numbers <= Counter(number for table in tables_of(s, record.id) for number in _numbers(table))
            assert numbers or name == "profile"  # which was given as a document
        assert len(list(ledger.entries())) == before


def _numbers(answer: Any, release_id: str | None = None) -> list[int | float]:
    """All numbers of an answer, or of one under this id."""
    if not isinstance(answer, Answer | WorkloadAnswer) or (release_id is not None and answer.release_id != release_id):
        return []
    tables = [answer] if isinstance(answer, Answer) else list(answer)
    cells = [cell for table in tables for column in table.to_dict().values() for cell in column]
    return [cell for cell in cells if isinstance(cell, int | float)]


def without_notes(statistic: Any) -> Any:
    """A statistic as JSON, but for notes, which say that nothing was charged again."""
    document = json.loads(statistic.to_json())
    document.get("provenance", {}).pop("notes", None)
    return document


def _require_same_run(read: Any, bought: list[Any]) -> None:
    (first,) = (release for release in bought if isinstance(release, type(read)))
    if isinstance(read, gt.synth.SyntheticTable):
        assert list(map(repr, read.measured)) == list(map(repr, first.measured))  # to which models are fitted
        assert read.rows == first.rows
    elif isinstance(read, gt.answers.Estimate):
        assert read.to_dict() == first.to_dict()
    elif hasattr(read, "to_json") and not hasattr(read, "model_"):
        assert without_notes(read) == without_notes(first)
    else:
        assert codec.write(read.model_) == codec.write(first.model_)
        assert read.provenance_.release_id == first.provenance_.release_id
        assert (read.target, list(read.features)) == (first.target, list(first.features))
