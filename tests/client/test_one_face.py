"""One face: whatever is asked of a local session can be asked of a service, with the same types and the same errors."""

from __future__ import annotations

import http.client
import re
import threading
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction
from socket import socket
from typing import TYPE_CHECKING, Any

import pytest

import giveortake as gt
from demo_service import COUNT
from giveortake.configuration import from_toml
from giveortake.errors import Unavailable
from giveortake.server.demo import prepared
from waiting import LONGEST

if TYPE_CHECKING:
    from collections.abc import Iterator

    from demo_service import Running

WRONG = "got_0_0"
MEAN = "SELECT region, AVG(amount) AS mean FROM visits GROUP BY region"


@pytest.fixture(scope="module", params=["local", "remote"])
def s(request: pytest.FixtureRequest, service: Running, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """A session of an analyst who may spend ε = 0.9."""
    if request.param == "remote":
        with gt.connect(service.address, token=service.tokens["eve"]) as remote:
            yield remote
        return
    folder = tmp_path_factory.mktemp("local")
    settings = prepared(folder).settings
    with from_toml(settings.toml) as whole, gt.ledger.open(settings.ledger, mark=settings.mark) as book:
        book.analyst("eve", datasets=["visits"], budget=gt.PureDP("9/10"), failures=100)
        yield whole.as_analyst("eve")


def test_a_session_says_what_it_is_about(s: Any) -> None:
    assert (s.name, s.describe().population) == ("visits", "people of visits")
    assert s.budget.granted == gt.PureDP("9/10", unit=gt.unit("person_id"))
    assert list(s.describe().catalog.private["visits"].schema) == ["person_id", "region", "reason", "amount"]
    assert "visits" in repr(s)
    assert re.search(r"\n  [\d.]+ % of the budget is used \(sum of ε\); ε = [\d.]+ is left", repr(s))
    assert s.describe().caps.rows_per_person == 4
    assert str(s.describe().caps).startswith("at most 4 rows of a person")


def test_quotes_are_quotes(s: Any) -> None:
    quote = s.sql(COUNT).quote(epsilon="0.1")
    assert isinstance(quote, gt.session.Quote)
    assert quote.cost == gt.PureDP("0.1", unit=gt.unit("person_id"))
    assert quote.margins["n"] == pytest.approx(120.329, abs=0.01)
    assert (quote.admitted, quote.confidence, quote.share) == (True, Fraction(19, 20), Fraction(1, 9))
    assert isinstance(quote.remaining, Fraction)
    assert "cost: ε = 0.1" in str(quote)
    before = 1 - quote.remaining / Fraction(9, 10)
    assert quote.used_after == before + Fraction(1, 9)
    assert quote.doubt is None
    assert "person_id (text)" in repr(s.table("visits"))


def test_an_answer_can_be_asked_again_for_free_and_refined(s: Any) -> None:
    spent = s.budget.spent
    first = s.sql(COUNT).answer(epsilon=Fraction(1, 20), key="once")
    assert isinstance(first, gt.answers.Answer)
    assert s.budget.spent == spent + Fraction(1, 20)
    again = s.sql(COUNT).answer(epsilon="0.05", key="once")
    assert (again.to_dict(), again.release_id) == (first.to_dict(), first.release_id)
    assert s.budget.spent == spent + Fraction(1, 20)
    refined = first.refine(epsilon="0.05")
    assert refined.guarantee == gt.PureDP("0.1", unit=gt.unit("person_id"))
    assert s.budget.spent == spent + Fraction(1, 10)
    elsewhere = s.sql(COUNT).answer(epsilon="0.05", key="in another window")  # free, and no other release
    assert elsewhere.release_id == first.release_id
    assert elsewhere.refine(epsilon="0.05").to_dict() == refined.to_dict()
    assert s.budget.spent == spent + Fraction(1, 10), "both refine what was paid for, which is paid for once"
    assert s.budget.left == Fraction(9, 10) - s.budget.spent
    assert s.budget.affordable == s.budget.left


def test_frames_ask_what_sql_asks(s: Any) -> None:
    table = s.table("visits").filter(gt.col("amount") > 100).group_by("region")
    framed = table.agg(n=gt.count()).answer(epsilon="0.04")
    written = s.sql("SELECT region, COUNT(*) AS n FROM visits WHERE amount > 100 GROUP BY region")
    assert written.answer(epsilon="0.04").to_dict() == framed.to_dict()
    assert s.table().group_by("region").agg(n=gt.count()).quote(epsilon="0.1").admitted


def test_a_sum_of_sixty_columns_is_asked_as_any_other(s: Any) -> None:
    many = sum((gt.col("amount") for _ in range(59)), start=gt.col("amount"))
    asked = s.table().agg(total=gt.sum(many))
    assert asked.quote(epsilon="0.01").admitted
    first = asked.answer(epsilon="0.01")
    assert s.release(first.release_id).to_dict() == first.to_dict()


def test_several_questions_have_one_charge(s: Any) -> None:
    spent = s.budget.spent
    batch = s.batch([COUNT, s.sql(MEAN)])
    quote = batch.quote(epsilon="0.04")
    assert (quote.kind, quote.admitted, quote.cost, s.budget.spent) == (
        "batch",
        True,
        gt.PureDP("0.04", unit=gt.unit("person_id")),
        spent,
    )
    answers = batch.answer(epsilon="0.04")
    assert [len(each) for each in answers] == [6, 6]
    assert answers[0].release_id == answers[1].release_id
    assert s.releases(newest_first=True)[0].tables == 2
    assert s.budget.spent == spent + Fraction(1, 25)


def test_a_stream_is_read_in_parts_and_again(s: Any) -> None:
    stream = s.sql(COUNT).stream(epsilon="0.05", key="once more")
    assert [len(part) for part in stream] == [6]
    assert [part.to_dict() for part in stream] == [part.to_dict() for part in stream]
    assert stream.release_id is not None


def test_workloads_are_quoted_and_answered(s: Any) -> None:
    asked = s.workload(gt.workload.marginals(["region"]) + gt.workload.total())
    quote = asked.quote(epsilon="0.04")
    assert quote.admitted
    assert set(quote.margins) == {"region", "total"}
    assert [(line["table"], line["cells"]) for line in quote.lines] == [(("region",), 6), ((), 1)]
    assert quote.facts["rms"] <= quote.facts["equal_rms"]
    assert type(quote.plot()).__name__ == "Chart"
    answer = asked.answer(epsilon="0.04")
    assert set(answer.tables) == {("region",), ()}
    assert [column.name for column in answer["region"].columns] == ["region", "n", "n_consistent"]
    assert len(answer[()]) == 1
    stacked = answer.stacked()
    assert [column.name for column in stacked.columns] == ["grouping", "region", "n", "n_consistent"]
    assert stacked["grouping"].values.count("region") == 6
    assert stacked.guarantee == answer["region"].guarantee
    assert (answer.to_csv() or "").splitlines()[0] == "grouping,region,n,n_low,n_high,n_consistent"
    record = next(each for each in s.releases(newest_first=True) if each.id == answer.release_id)
    assert (record.readable, record.tables) == (True, 2)
    assert [each.to_dict() for each in s.release(record.id)] == [each.to_dict() for each in answer]
    cube = s.workload("SELECT region, COUNT(*) AS visits FROM visits GROUP BY CUBE (region)")
    assert cube.answer(epsilon="0.04")["region"]["visits"].has_interval


def test_profiles_tell_caps(s: Any) -> None:
    quote = s.profile().quote(epsilon="0.1")
    assert (quote.kind, quote.admitted, quote.paid, quote.margins["persons"] > 1) == ("profile", True, False, True)
    profile = s.profile().answer(epsilon="0.1")
    assert s.profile().quote(epsilon="0.1").paid
    assert profile.caps()["rows_per_person"] >= 1
    assert profile.left_out(rows_per_person=4).low is not None
    assert s.sql(COUNT).quote(epsilon="0.1").left_out.profiled
    spent = s.budget.spent
    (again,) = s.profiles()  # paid for, and free
    assert (again.counts, again.release_id, again.notes) == (profile.counts, profile.release_id, ())
    assert s.release(profile.release_id).counts == profile.counts
    read = s.release(profile.release_id, index=0)
    assert read["rows_from"].values[:10] == (1, 2, 3, 4, 5, 6, 7, 8, 9, 11)
    assert read["rows_to"].values[-1] is None  # nobody has said how many rows a person has at most
    assert tuple(read["people"].values) == profile.counts[0]
    record = next(record for record in s.releases(newest_first=True) if record.id == profile.release_id)
    assert record.description == "profile of visits: rows of a person"
    assert (s.budget.spent, s.budget.given) == (spent, 0)


def test_what_was_asked_is_listed_and_read_again(s: Any) -> None:
    answer = s.sql(COUNT).answer(epsilon="0.03")
    records = s.releases()
    assert answer.release_id in {record.id for record in records}
    assert all(record.settled and record.analyst == "eve" for record in records)
    assert s.releases(after=records[0].id, limit=1) == [records[1]]
    assert s.releases(newest_first=True)[0].id == answer.release_id
    again = s.release(answer.release_id)
    assert again["n"] == answer["n"]
    assert again.guarantee == answer.guarantee
    entries = s.history()
    assert [entry.number for entry in entries] == list(range(1, len(entries) + 1))
    assert {"analyst", "reserved", "settled"} <= {entry.kind for entry in entries}
    assert [entry.number for entry in s.history(after=2, limit=3)] == [3, 4, 5]
    lists: list[Any] = [records, entries, records[1:], entries[1:3]]
    for found in lists:  # a line each, in a terminal and in a notebook
        lines = repr(found).splitlines()
        assert len(lines) == min(len(found), 20) + 2
        assert all(len(line) < 170 for line in lines)
        assert found._repr_html_().count("<tr>") == min(len(found), 20) + 1
    assert f"{records[0].id}  {records[0].at[:16].replace('T', ' ')}" in repr(records)
    assert "ε = 0.03" in repr(s.releases(newest_first=True, limit=1))
    assert "reserved  visits: ε = 0.03, count rows by region" in repr(s.history(after=entries[-3].number))
    again = s.sql(COUNT).answer(epsilon="0.03", key="with another key")
    assert again.release_id == answer.release_id
    assert [record.id for record in s.releases()] == [record.id for record in records]
    assert again.to_dict()["n"] == answer.to_dict()["n"]


ERRORS: list[tuple[Any, type[Exception]]] = [
    (lambda s: s.sql("SELECT * FROM visits"), gt.errors.QueryRefused),
    (lambda s: s.sql("SELECT COUNT(*) AS n FROM nowhere"), gt.errors.QueryRefused),
    (lambda s: s.sql(COUNT).quote(epsilon="-1"), gt.errors.InvalidParameter),
    (lambda s: s.sql(COUNT).quote(epsilom="1"), gt.errors.InvalidParameter),
    (lambda s: s.sql(COUNT).answer(), gt.errors.InvalidParameter),
    (lambda s: s.sql(COUNT).answer(epsilon="50"), gt.errors.BudgetExceeded),
    (lambda s: s.sql(COUNT).answer(rho="1/1000"), gt.errors.Unpriced),
    (lambda s: s.sql(MEAN).answer(epsilon="0.05", key="once"), gt.errors.IdempotencyConflict),
    (lambda s: s.table("nowhere"), gt.errors.QueryRefused),
    (lambda s: s.profile(by=["nothing"]).answer(epsilon="0.01"), gt.errors.GiveOrTakeError),
    (lambda s: s.batch([]).answer(epsilon="1"), gt.errors.InvalidParameter),
    (lambda s: s.release("nothing"), gt.errors.NotFound),
    (lambda s: s.workload(gt.workload.marginals(["nothing"])).quote(epsilon="0.1"), gt.errors.GiveOrTakeError),
]


def test_errors_have_their_types(s: Any) -> None:
    for place, (ask, error) in enumerate(ERRORS):
        with pytest.raises(error):
            pytest.fail(f"number {place} is no error: {ask(s)}")


NOT_FROM_AFAR: list[tuple[Any, type[Exception]]] = [
    (lambda s: gt.synth.synthesize(s, columns=["region", "amount"], bins={"amount": [0, 9]}, share=1, progress=print),
     gt.errors.InvalidParameter),
    (lambda s: gt.learn.sgd(s, "amount", ["region"], loss="mine@1", n=9, epsilon=1, delta="1e-7"),
     gt.errors.InvalidParameter),
    (lambda s: s.as_analyst("bob"), gt.errors.AccessDenied),
]  # fmt: skip


def test_what_only_works_beside_the_data_is_refused_by_name(service: Running) -> None:
    with gt.connect(service.address, token=service.tokens["ann"]) as remote:
        for ask, error in NOT_FROM_AFAR:
            with pytest.raises(error):
                ask(remote)
        assert remote.budget.spent == 0 or remote.history()[-1].kind != "reserved"


def test_threads_have_connections_of_their_own_and_none_is_left_open(
    service: Running, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[http.client.HTTPConnection] = []

    class Recorded(http.client.HTTPConnection):
        def connect(self) -> None:
            super().connect()
            made.append(self)

    monkeypatch.setattr(http.client, "HTTPConnection", Recorded)
    at_once = threading.Barrier(3)

    def ask(remote: Any) -> str:
        at_once.wait()
        return str(remote.budget if remote.budget.spent >= 0 else None)

    with gt.connect(service.address, token=service.tokens["eve"]) as remote:
        with ThreadPoolExecutor(3) as threads:
            assert len(set(threads.map(ask, [remote] * 3))) == 1
        own, *others = dict.fromkeys(made)
        assert own.sock is not None
        assert [each.sock for each in others] == [None] * 3  # their threads have ended
        waiting, go_on = threading.Event(), threading.Event()

        def ask_and_stay() -> None:
            assert remote.budget.spent >= 0
            waiting.set()
            go_on.wait(LONGEST)

        staying = threading.Thread(target=ask_and_stay)
        staying.start()
        assert waiting.wait(LONGEST)
    assert {each.sock for each in made} == {None}
    go_on.set()
    staying.join()


def test_messages_are_the_same_on_both_sides(service: Running) -> None:
    with gt.connect(service.address, token=service.tokens["eve"]) as remote:
        with pytest.raises(gt.errors.BudgetExceeded, match="ε = 50") as told:
            remote.sql(COUNT).answer(epsilon="50")
        assert told.value.hint
        with pytest.raises(gt.errors.AccessDenied, match="token") as denied:
            gt.connect(service.address, token=WRONG)
        assert str(denied.value.hint).startswith('gt.connect(…, token="got_…")')
    with pytest.raises(gt.errors.InvalidParameter, match="address"):
        gt.connect("visits.csv", token=WRONG)


def test_https_to_a_plain_service_says_what_to_write(service: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("giveortake.client.connection._PAUSES", ())
    with pytest.raises(Unavailable) as secure:
        gt.connect(service.address.replace("http:", "https:"), token=WRONG)
    assert "plain http://" in str(secure.value.hint)


def test_a_service_that_cannot_be_reached_is_told_with_its_port(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("giveortake.client.connection._PAUSES", ())
    with socket() as free:
        free.bind(("127.0.0.1", 0))  # and nobody listens
        port = free.getsockname()[1]
        with pytest.raises(Unavailable, match=str(port)):
            gt.connect(f"http://127.0.0.1:{port}", token=WRONG)
