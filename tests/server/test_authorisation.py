"""Who may what: every route, for nobody, an analyst, another analyst, one who was granted nothing here, a custodian."""

from __future__ import annotations

import asyncio
from itertools import product
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

import pytest

import giveortake as gt
from demo_service import COUNT
from giveortake.caching import Cache
from giveortake.server.application import ROUTES
from giveortake.server.guard import Guard
from giveortake.server.responses import Refusal
from giveortake.server.service import TOKEN_TTL, Service
from giveortake.server.settings import WRONG_TOKENS

if TYPE_CHECKING:
    import httpx

    from demo_service import Running
    from giveortake.server.routes import Route

BODY = {"sql": COUNT, "terms": {"epsilon": "0.02"}, "key": "matrix"}


@pytest.fixture(scope="module")
def release(service: Running) -> str:
    """A release of ann's."""
    return str(service.answer("ann", COUNT, "matrix", epsilon="0.02").json()["release_id"])


def path_of(route: Route, release: str) -> str:
    known = {"dataset": "visits", "release": release, "analyst": "nobody", "token": "nothing", "level": "99999"}
    return route.path.format(**known, request="99999", name="console.css")


def send(service: Running, who: str, route: Route, path: str, body: dict[str, Any] | None) -> httpx.Response:
    """A request in the form of its route: pages take forms, which only a page of ours may send."""
    if not route.page or route.body is None:
        return service.call(who, route.method, path, None if route.body is None else body)
    fields = dict.fromkeys(route.body.get("required", ()), "1")
    headers = {"content-type": "application/x-www-form-urlencoded", "sec-fetch-site": "same-origin"}
    return service.call(who, route.method, path, headers=headers, content=urlencode(fields))


def test_nobody_is_let_in_without_a_token(service: Running, release: str) -> None:
    for route, said in product(ROUTES, (None, "Bearer got_0123456789abcdef_" + "0" * 64, "Basic YTpi")):
        headers = {} if said is None else {"authorization": said}
        response = service.call(None, route.method, path_of(route, release), headers=headers, client=service.elsewhere)
        if route.role == "anybody":
            assert response.status_code == 200 or route.page, (route.name, said)
        elif route.page and response.status_code == 303:
            assert response.headers["location"].startswith("/login"), (route.name, said)
        else:
            assert response.status_code in {401, 429}, (route.name, said)


def test_every_route_is_for_its_role(service: Running, release: str) -> None:
    """An empty body is malformed for whoever may, so that nothing is changed here."""
    holders = {"monitor": "monitor", "auditor": "auditor", "analyst": "ann", "custodian": "custodian"}
    with service.book() as book:
        service.tokens |= {role: book.issue_token(role=role)[1] for role in ("monitor", "auditor")}
    for route, role in product([route for route in ROUTES if route.role != "anybody"], holders):
        body: dict[str, object] | None = None if route.body is None else {}
        own = {"sec-fetch-site": "same-origin"}  # as a page of ours says
        reply = service.call(holders[role], route.method, path_of(route, release), body, headers=own)
        assert (reply.status_code == 403) == (role not in {route.role, "custodian"}), (route.name, role)
        if reply.status_code == 403 and not route.page:
            assert reply.json()["error"]["cause"] == "role", (route.name, role)
        assert reply.status_code != 401, (route.name, role)
        assert reply.status_code < 500, (route.name, role)


def test_what_is_somebody_elses_is_as_absent_as_what_never_was(service: Running, release: str) -> None:
    body = {"key": "other", "terms": {"epsilon": "0.01"}}
    owned = [route for route in ROUTES if "{release}" in route.path]
    assert owned
    for route in owned:
        content: dict[str, Any] = {"argument": None} if route.path.endswith("advance") else body
        theirs = send(service, "bob", route, path_of(route, release), content)
        never = send(service, "bob", route, path_of(route, "0" * 24), content)
        assert theirs.status_code == 404, route.name
        assert theirs.content == never.content, route.name
        assert without_chance(theirs.headers) == without_chance(never.headers), route.name
    assert service.call("ann", "GET", f"/v1/datasets/visits/releases/{release}").status_code == 200


def without_chance(headers: object) -> list[tuple[str, str]]:
    changing = {"date", "x-request-id"}  # a time, and a random number
    return [(name, value) for name, value in headers.items() if name not in changing]  # type: ignore[attr-defined]  # (of httpx)


def test_a_data_set_that_was_not_granted_is_as_absent_as_one_that_never_was(service: Running) -> None:
    """`stranger` has a token and was granted another data set; nothing but its name is known here."""
    with service.book() as book:
        book.dataset("elsewhere", population="people of visits")
        book.analyst("stranger", datasets=["elsewhere"], budget=gt.PureDP("1/100"))
        service.tokens["stranger"] = book.issue_token(role="analyst", analyst="stranger")[1]
    shapes: dict[str, dict[str, Any]] = {
        "stream": {**BODY, "part": 0},
        "advance": {"argument": None},
        "refine": {"terms": {}, "key": "k"},
        "answer": BODY,
    }
    usual: dict[str, Any] = {"sql": COUNT, "terms": {"epsilon": "0.02"}}
    for route in (each for each in ROUTES if "{dataset}" in each.path):
        body = next((each for end, each in reversed(shapes.items()) if route.path.endswith(end)), usual)
        path = path_of(route, "0" * 24)
        if "compare" in path:
            path += f"?before={'0' * 24}&after={'1' * 24}"
        forbidden = send(service, "stranger", route, path, body)
        absent = send(service, "stranger", route, path.replace("visits", "nothing"), body)
        statuses = {400, 404} if route.page else {404}  # a form is looked at before its data set
        assert forbidden.status_code in statuses, route.name
        assert forbidden.content == absent.content, route.name
        assert without_chance(forbidden.headers) == without_chance(absent.headers), route.name


def test_a_browser_is_shown_a_page_and_a_program_json_and_neither_says_what_there_is(service: Running) -> None:
    browser = {"sec-fetch-mode": "navigate", "accept": "text/html,*/*"}
    places = ("/no/such/page", "/releases/nothing", "/releases/elsewhere", "/v1/datasets/elsewhere", "/v1/nothing")
    pages = [service.call("bob", "GET", path, headers=browser) for path in places]
    assert {page.status_code for page in pages} == {404}
    assert len({page.content for page in pages}) == 1
    assert len({str(without_chance(page.headers)) for page in pages}) == 1
    old = service.call("bob", "GET", "/no/such/page", headers={"accept": "text/html"})
    assert old.content == pages[0].content
    for headers in ({}, {"accept": "text/html"}, {"sec-fetch-mode": "cors", "accept": "*/*"}):
        told = service.call("bob", "GET", "/v1/nothing", headers=headers)
        assert told.json()["error"]["cause"] == "not_found"
    nobody = service.call(None, "GET", "/no/such/page", headers=browser)
    assert (nobody.status_code, nobody.headers["location"]) == (303, "/login?why=first")
    wrong = service.call(None, "GET", "/", headers={**browser, "cookie": "giveortake=got_0_0"})
    assert (wrong.status_code, wrong.headers["location"]) == (303, "/login?why=first")


def test_an_analyst_sees_their_own_entries_and_releases_alone(service: Running, release: str) -> None:
    assert release not in service.call("bob", "GET", "/v1/datasets/visits/history").text
    assert release not in service.call("bob", "GET", "/v1/datasets/visits/releases").text
    assert release in service.call("custodian", "GET", "/v1/datasets/visits/releases").text
    assert release in service.call("custodian", "GET", "/v1/ledger/releases").text


def test_a_revoked_token_is_refused_at_once_and_a_revoked_analyst_is_told_so(service: Running) -> None:
    made = service.call("custodian", "POST", "/v1/tokens", {"role": "analyst", "analyst": "bob"}).json()
    service.tokens["short"] = made["token"]
    assert service.call("short", "GET", "/v1/me").json()["analyst"] == "bob"
    because = {"reason": "a test"}
    assert service.call("custodian", "POST", f"/v1/tokens/{made['id']}/revoke", because).status_code == 200
    assert service.call("short", "GET", "/v1/me").status_code == 401
    assert service.call("custodian", "POST", "/v1/analysts/bob/revoke", because).status_code == 200
    for told in ("history", "profiles", "releases"):
        assert service.call("bob", "GET", f"/v1/datasets/visits/{told}").status_code == 403
    refused = service.answer("bob", COUNT, "revoked", epsilon="0.01")
    assert (refused.status_code, refused.json()["error"]["cause"]) == (403, "revoked")
    service.service.pools["never granted"] = service.service.pools["visits"]
    try:
        service.service.expire_tokens()
        assert service.call("bob", "GET", "/v1/me").json()["datasets"] == ["visits"]
        assert "never granted" in service.call("custodian", "GET", "/v1/me").json()["datasets"]
    finally:
        del service.service.pools["never granted"]
        service.service.expire_tokens()
    assert service.call("custodian", "POST", "/v1/analysts/bob/readmit", because).status_code == 200
    assert service.answer("bob", COUNT, "readmitted", epsilon="0.01").status_code == 200


def test_whoever_comes_after_a_revocation_is_not_told_what_was_found_before_it() -> None:
    """A clerk may look at a token just before another clerk revokes it, and be the slower one."""
    analyst = {"token": "t", "role": "analyst", "analyst": "bob", "datasets": []}

    async def run() -> None:
        asked: list[asyncio.Future[Any]] = []

        async def ask(_operation: str, **_said: Any) -> Any:
            asked.append(asyncio.get_running_loop().create_future())
            return await asked[-1]

        async def comes() -> asyncio.Task[Any]:
            found = asyncio.ensure_future(service.authenticate("token"))
            for _ in range(10):
                await asyncio.sleep(0)
            return found

        service = Service(SimpleNamespace(jobs=1), SimpleNamespace(ask=ask), {})  # type: ignore[arg-type]  # (nothing else)
        early, beside = await comes(), await comes()
        assert len(asked) == 1  # one look is enough for both
        service.expire_tokens()
        late = await comes()
        assert len(asked) == 2
        asked[1].set_result(({"principal": None}, b""))
        assert await late is None
        asked[0].set_result(({"principal": analyst}, b""))
        assert await early == await beside is not None
        last = await comes()
        assert len(asked) == 3  # nobody believes the early one
        asked[2].set_result(({"principal": None}, b""))
        assert await last is None

    asyncio.run(run())


def test_a_token_is_believed_for_half_a_second_and_then_looked_up_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever is revoked by another front is kept out within a second."""
    now, looks = [0.0], [0]
    monkeypatch.setattr("giveortake.server.service.time", SimpleNamespace(monotonic=lambda: now[0]))
    analyst = {"token": "t", "role": "analyst", "analyst": "bob", "datasets": []}

    async def ask(_operation: str, **_said: Any) -> Any:
        looks[0] += 1
        return {"principal": analyst if now[0] < TOKEN_TTL else None}, b""

    async def run() -> None:
        service = Service(SimpleNamespace(jobs=1), SimpleNamespace(ask=ask), {})  # type: ignore[arg-type]  # (nothing else)
        for moment, let_in, so_far in ((0.0, True, 1), (0.99 * TOKEN_TTL, True, 1), (TOKEN_TTL, False, 2)):
            now[0] = moment
            assert (await service.authenticate("token") is not None, looks[0]) == (let_in, so_far)

    asyncio.run(run())
    assert TOKEN_TTL < 1


def test_what_a_custodian_does_is_written_down_with_who_did_it(service: Running) -> None:
    token = service.call("custodian", "GET", "/v1/me").json()["token"]
    name = {"name": "new", "datasets": ["visits"], "budget": {"epsilon": "1/100"}}
    assert service.call("custodian", "POST", "/v1/analysts", name).status_code == 200
    with service.book() as book:
        last = [entry for entry in book.history() if entry.kind == "analyst"][-1]
    assert last.content["by"] == f"token {token}"


def test_wrong_tokens_are_soon_not_listened_to_and_right_ones_still_are(service: Running) -> None:
    """By a clock that stands still: as many as may come at once are looked up, and no more."""
    guard = Guard.from_settings(service.service, service.service.settings)
    guard.strangers.rate.clock = lambda: 0.0
    assert service.call("ann", "GET", "/v1/me").status_code == 200  # it was let in within the hour

    async def status(token: str) -> int:
        headers = [(b"authorization", f"Bearer {token}".encode())]
        try:
            await guard.principal({"method": "GET", "client": ("10.0.0.9", 1), "headers": headers})
        except Refusal as refused:
            return refused.cause.status
        return 200

    async def statuses() -> list[int]:
        wrong = [f"got_{number:016x}_" + "1" * 64 for number in range(100)]
        return [await status(token) for token in (*wrong, service.tokens["ann"])]

    at_once = int(WRONG_TOKENS[1])
    replies = asyncio.run_coroutine_threadsafe(statuses(), service.loop).result()
    assert replies == [401] * at_once + [429] * (100 - at_once) + [200]


def test_every_request_of_the_front_has_a_cache_of_its_own(service: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    caches: list[Cache] = []

    def recorded() -> Cache:
        caches.append(Cache())
        return caches[-1]

    monkeypatch.setattr("giveortake.server.application.Cache", recorded)
    for who in ("ann", "bob"):
        assert service.call(who, "GET", "/v1/me").status_code == 200
    assert len({id(cache) for cache in caches}) == len(caches) >= 2
