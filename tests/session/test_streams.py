"""Released tables that are not held at once: drawn once, kept in a file, charged once."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import giveortake as gt
from engine_places import OTHERS, place
from giveortake.configuration import protection_arguments
from giveortake.mechanisms import CountedKeys, Laplace
from giveortake.session import storage
from waiting import LONGEST

TEXT = "SELECT k, d, COUNT(*) AS n, SUM(x) AS s FROM t GROUP BY k, d"
SPEND: dict[str, Any] = {"epsilon": 6000, "key_delta": "1e-8"}
PART = 7


@pytest.fixture(autouse=True)
def few_are_many(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(storage, "MANY", PART)


def table(rows: int = 3000) -> pl.DataFrame:
    persons = range(rows)
    return pl.DataFrame(
        {
            "p": [f"person {person}" for person in persons],
            "k": [None if person % 11 == 10 else f"key {person % 11}" for person in persons],
            "d": [person % 5 for person in persons],
            "x": [float(person % 7) for person in persons],
        }
    )


def session(source: Any = None, **more: Any) -> gt.session.Session:
    options: dict[str, Any] = {
        "unit": "p",
        "budget": gt.ApproxDP(10**7, "1e-5"),
        "domains": {"x": (0, 8)},
        "name": "t",
        "groups_per_person": 3,
        "rows_per_group": 4,
        **more,
    }
    return gt.protect(table() if source is None else source, **protection_arguments(options))


def columns(stream: Any) -> dict[str, list[Any]]:
    parts = [part.to_dict() for part in stream]
    return {name: [value for part in parts for value in part[name]] for name in parts[0]}


def test_a_stream_gives_what_an_answer_gives_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    with session() as s:
        stream = s.sql(TEXT).stream(**SPEND)
        sizes = [len(part) for part in stream]
        assert sizes == [PART] * 7 + [6]
        exact = {
            (k, d): (n, x) for k, d, n, x in table().group_by("k", "d").agg(n=pl.len(), x=pl.col("x").sum()).iter_rows()
        }
        found = columns(stream)
        assert list(zip(found["k"], found["d"], strict=True)) == sorted(exact, key=lambda key: (key[0] is None, key))
        for k, d, n, x in zip(found["k"], found["d"], found["n"], found["s"], strict=True):
            assert abs(n - exact[k, d][0]) < 1
            assert abs(x - exact[k, d][1]) < 10
        monkeypatch.setattr(storage, "MANY", 10**6)
        assert columns(s.sql(TEXT).stream(**SPEND)) == found  # it is kept, however much is many now


def test_all_intervals_of_a_stream_hold_together_as_those_of_an_answer_do() -> None:
    with session() as s:
        together = columns(s.sql(TEXT).stream(**SPEND, confidence_over="answer"))
        assert together == s.sql(TEXT).answer(**SPEND, confidence_over="answer").to_dict()
        each = columns(s.sql(TEXT).stream(**SPEND))
    assert together["s"] == each["s"]
    assert all(wide > narrow for wide, narrow in zip(together["s_high"], each["s_high"], strict=True))


def test_a_stream_is_charged_and_drawn_once_and_read_as_often_as_one_likes(monkeypatch: pytest.MonkeyPatch) -> None:
    drawn: list[str] = []
    for kind, name in ((CountedKeys, "release_with_numbers"), (Laplace, "release")):
        sound = getattr(kind, name)

        def counted(*given: Any, sound: Any = sound, name: str = name) -> Any:
            drawn.append(name)
            return sound(*given)

        monkeypatch.setattr(kind, name, counted)
    with session() as s:
        stream = s.sql(TEXT).stream(**SPEND)
        assert drawn.count("release") == 1 + 8  # one for the keys and their numbers; and one sum, eight parts
        before = list(drawn), s.budget.spent
        assert columns(stream) == columns(stream) == s.sql(TEXT).answer(**SPEND).to_dict()
        again = s.sql(TEXT).stream(**SPEND)
        assert (drawn, s.budget.spent) == before
        assert again.release_id == stream.release_id
        assert isinstance(again.guarantee, gt.ApproxDP)


def test_a_ledger_in_memory_leaves_nothing_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with gt.ledger.open(":memory:") as book, session(ledger=book) as s:
        assert columns(s.sql(TEXT).stream(**SPEND))
    assert list(tmp_path.iterdir()) == []


def test_parts_survive_the_session_beside_the_ledger(tmp_path: Path) -> None:
    ledger = tmp_path / "t.ledger"
    with session(ledger=ledger) as s:
        first = columns(s.sql(TEXT).stream(**SPEND))
    (kept,) = (tmp_path / "t.ledger.answers").iterdir()
    with session(ledger=ledger) as s:
        spent = s.budget.spent
        assert columns(s.sql(TEXT).stream(**SPEND)) == first
        assert s.budget.spent == spent
        text = kept.read_text()
        kept.write_text(text.replace("key 3", "key 4", 1))
        with pytest.raises(gt.errors.LedgerDamaged):
            s.sql(TEXT).stream(**SPEND)
        kept.unlink()
        with pytest.raises(gt.errors.NotFound):
            s.sql(TEXT).stream(**SPEND)


def test_what_fails_half_way_leaves_nothing_and_a_retry_is_charged_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sound = Laplace.release
    calls: list[int] = []

    def failing(*given: Any) -> Any:
        calls.append(1)
        if len(calls) == 9:
            raise gt.errors.QueryFailed("a worker was lost")
        return sound(*given)

    monkeypatch.setattr(Laplace, "release", failing)
    with session(ledger=tmp_path / "t.ledger", spool=tmp_path / "kept") as s:
        query = s.sql(TEXT)
        with pytest.raises(gt.errors.QueryFailed):
            query.stream(**SPEND, key="mine")
        spent = s.budget.spent
        (drawn,) = (tmp_path / "kept").iterdir()  # the keys, so that nobody can have them drawn again
        assert drawn.suffix == ".keys"
        selected: list[int] = []
        monkeypatch.setattr(CountedKeys, "release_with_numbers", lambda *_: selected.append(1))
        stream = query.stream(**SPEND, key="mine")
        assert selected == []
        assert s.budget.spent == spent
        assert sum(len(part) for part in stream) == 55
    assert [path.suffix for path in (tmp_path / "kept").iterdir()] == [".answer"]


def test_found_keys_that_wait_in_lines_of_another_length_are_taken_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As those are that an earlier version has drawn, and not settled."""
    sound = Laplace.release

    def failing(*given: Any) -> Any:
        if list((tmp_path / "kept").glob("*.keys")):
            raise gt.errors.QueryFailed("a worker was lost")
        return sound(*given)

    with session(ledger=tmp_path / "t.ledger", spool=tmp_path / "kept") as s:
        with monkeypatch.context() as before:
            before.setattr(storage, "MANY", 20)
            before.setattr(Laplace, "release", failing)
            with pytest.raises(gt.errors.QueryFailed):
                s.sql(TEXT).stream(**SPEND)
        assert [len(part) for part in s.sql(TEXT).stream(**SPEND)] == [20, 20, 15]
        answer = s.sql(TEXT).answer(**SPEND).to_polars()
        assert {row[:2] for row in answer.rows()} == set(table().select("k", "d").rows())


def test_a_full_disk_leaves_no_part_and_a_charge(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with session(ledger=tmp_path / "t.ledger", spool=tmp_path / "kept") as s:
        before = s.budget.affordable
        with monkeypatch.context() as patch:
            patch.setattr(storage, "_sync", _no_room)
            with pytest.raises(gt.errors.QueryFailed):
                s.sql(TEXT).stream(**SPEND, key="mine")
        assert [path.name for path in (tmp_path / "kept").iterdir() if path.name.startswith(".")] == []
        assert s.budget.affordable != before
        assert sum(len(part) for part in s.sql(TEXT).stream(**SPEND, key="mine")) == 55


def _no_room(_folder: Path) -> None:
    raise OSError(28, "No space left on device")


def test_a_question_that_finds_no_keys_makes_no_folder(tmp_path: Path) -> None:
    with session(ledger=tmp_path / "t.ledger", spool=tmp_path / "kept") as s:
        s.sql("SELECT COUNT(*) AS n FROM t").answer(epsilon=1)
        assert not (tmp_path / "kept").exists()


def test_keys_are_kept_on_file_systems_without_links(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def no_links(*_given: Any) -> None:
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr("os.link", no_links)
    with session(spool=tmp_path / "kept") as s:
        assert sum(len(part) for part in s.sql(TEXT).stream(**SPEND)) == 55


def test_streams_as_arrow_and_parquet(tmp_path: Path) -> None:
    with session() as s:
        stream = s.sql(TEXT).stream(**SPEND)
        assert pl.DataFrame(stream).to_dict(as_series=False) == columns(stream)
        stream.to_parquet(tmp_path / "t.parquet")
        assert pl.read_parquet(tmp_path / "t.parquet").to_dict(as_series=False) == columns(stream)
        assert repr(stream) == f"<Stream {stream.release_id}: k, d, n, s>"
        told: list[int] = []
        stream.to_parquet(tmp_path / "t.parquet", progress=told.append)
        assert told == sorted(told)
        assert told[-1] == len(pl.read_parquet(tmp_path / "t.parquet"))


def test_having_and_limit_hold_over_all_parts_and_order_is_refused() -> None:
    with session() as s:
        limited = s.sql(f"{TEXT} HAVING d > 1 LIMIT 9").stream(**SPEND)
        found = columns(limited)
        assert len(found["d"]) == 9
        assert min(found["d"]) == 2
        spent = s.budget.spent
        with pytest.raises(gt.errors.QueryRefused):
            s.sql(f"{TEXT} ORDER BY n").stream(epsilon=1)
        assert s.budget.spent == spent


def test_few_keys_or_none_are_a_stream_too() -> None:
    with session() as s:
        assert columns(s.sql("SELECT COUNT(*) AS n FROM t").stream(epsilon=10**6))["n"] == [3000]
        assert columns(s.sql("SELECT k, COUNT(*) AS n FROM t WHERE x > 7 GROUP BY k").stream(**SPEND))["n"] == []


@pytest.mark.parametrize("where", OTHERS)
def test_streams_come_from_everywhere(where: str, request: pytest.FixtureRequest) -> None:
    text = "SELECT k, d, COUNT(*) AS n, SUM(x) AS s, COUNT(DISTINCT d) AS c, MEDIAN(x) AS m FROM t GROUP BY k, d"
    here, there = table(), place(where, request)("streamed", table())
    found = []
    for source in (here, there):
        with session(source=source) as s:
            found.append(columns(s.sql(text).stream(epsilon=5000, key_delta="1e-8")))
    assert len(found[0]["k"]) == 55
    for name in ("k", "d", "n", "c"):
        assert found[0][name] == found[1][name]
    assert all(abs(one - other) < 1 for one, other in zip(found[0]["s"], found[1]["s"], strict=True))


def test_of_two_who_ask_at_once_one_answer_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The second asks while the first one has drawn and not settled yet."""
    drawn = threading.Event()
    sound = storage.content_of

    def announced(parts: Any) -> Any:
        drawn.set()
        return sound(parts)

    monkeypatch.setattr(storage, "content_of", announced)
    with session(ledger=tmp_path / "t.ledger", spool=tmp_path / "kept") as s, ThreadPoolExecutor(2) as pool:
        first = pool.submit(lambda: columns(s.sql(TEXT).stream(**SPEND, key="mine")))
        assert drawn.wait(LONGEST)
        second = pool.submit(lambda: columns(s.sql(TEXT).stream(**SPEND, key="mine")))
        assert first.result() == second.result() == columns(s.sql(TEXT).stream(**SPEND, key="mine"))
        assert len([entry for entry in s.history() if entry.kind == "reserved"]) == 1
    assert [path.suffix for path in (tmp_path / "kept").iterdir()] == [".answer"]


def test_what_is_drawn_is_in_no_error(monkeypatch: pytest.MonkeyPatch) -> None:
    def failing(*_given: Any) -> Any:
        raise ValueError("key 3 and key 4 were drawn")

    monkeypatch.setattr(storage, "with_keys", failing)
    monkeypatch.setattr(storage, "MANY", 10**6)
    with session() as s, pytest.raises(gt.errors.QueryFailed) as failure:
        s.sql(TEXT).answer(**SPEND)
    assert "key" not in str(failure.value)
    assert failure.value.__context__ is None
    assert failure.value.__cause__ is None


def test_refining_one_part_of_a_stream_does_not_find_the_refinement_of_another() -> None:
    def keys_and_counts(answer: gt.answers.Answer) -> list[tuple[Any, ...]]:
        found: dict[str, Any] = answer.to_dict()
        return list(zip(found["k"], found["d"], found["n"], strict=True))

    with session() as s:
        parts = list(s.sql(TEXT).stream(**SPEND))[:3]
        refined = [keys_and_counts(part.refine(epsilon=1000)) for part in parts]
        for before, after in zip(map(keys_and_counts, parts), refined, strict=True):
            assert [row[:2] for row in after] == [row[:2] for row in before]
            assert all(abs(one[2] - other[2]) < 5 for one, other in zip(after, before, strict=True))
        spent = s.budget.spent
        assert [keys_and_counts(part.refine(epsilon=1000)) for part in parts] == refined
        assert s.budget.spent == spent
