"""What a service sends of a release to a session of `gt.connect`."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import giveortake as gt

if TYPE_CHECKING:
    from demo_service import Running

AT = "/v1/datasets/visits"


def test_what_is_sent_of_a_release_holds_no_pads_and_no_numbers_of_entries(service: Running) -> None:
    with gt.connect(service.address, token=service.tokens["ann"]) as s:
        weights = s.weights(["region"], accuracy="0.2", queries=5).answer(epsilon="0.1", delta="1e-8")
        for region in ("north", "south"):
            weights.count({"region": region})
        count = s.sql("SELECT COUNT(*) AS n FROM visits").answer(epsilon="0.01")
    for release in (weights.release_id, count.release_id):
        sent: dict[str, Any] = service.call("ann", "GET", f"{AT}/releases/{release}?format=stored").json()
        assert "under_pad" not in json.dumps(sent)
        assert not {"number", "levels", "hash"} & sent["reservation"].keys()
        assert sent["reservation"]["charged"] in {True, False}
        assert service.call("bob", "GET", f"{AT}/releases/{release}?format=stored").status_code == 404
