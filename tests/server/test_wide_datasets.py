"""Data sets with very many categories: workers describe them, and the front reads none of that."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from demo_service import running_demo
from giveortake.server import demo
from giveortake.server.workers import framing, pool

if TYPE_CHECKING:
    from collections.abc import Iterator

    from demo_service import Running

pytestmark = pytest.mark.xdist_group("service")
REGIONS = ["north", "south", "east", "west", *(f"r{number:06}" for number in range(20_000))]


@pytest.fixture(scope="module")
def wide(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """A service whose regions are 20,004."""
    with pytest.MonkeyPatch.context() as patch:
        declared = f"region = {json.dumps(REGIONS)}\n"
        patch.setattr(demo, "_TOML", _with_regions(demo._TOML, declared))
        with running_demo(tmp_path_factory.mktemp("wide")) as found:
            yield found


def _with_regions(toml: str, declared: str) -> str:
    lines = toml.splitlines(keepends=True)
    return "".join(declared if line.startswith("region") else line for line in lines)


def test_a_front_reads_little_of_a_wide_data_set_and_sends_all_of_it(
    wide: Running, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever the front reads, it reads on the one loop that all requests share."""
    sizes, read = [0], framing.read

    async def measured(reader: Any) -> Any:
        document, content = await read(reader)
        sizes.append(len(json.dumps(document)))
        return document, content

    monkeypatch.setattr(pool, "read", measured)
    described = wide.call("ann", "GET", "/v1/datasets/visits").json()
    (column,) = [each for each in described["tables"][0]["columns"] if each["name"] == "region"]
    assert set(column["categories"]) == set(REGIONS)
    assert wide.call("ann", "GET", "/v1/datasets").json() == {"datasets": [described]}
    for path in ("/", "/ask/visits", "/profile/visits", "/meaning/visits"):
        page = wide.call("ann", "GET", path)
        assert page.status_code == 200
        assert len(page.content) < 100_000
    assert f"of {len(REGIONS):,}</summary>" in wide.call("ann", "GET", "/").text
    assert max(sizes) < 50_000
