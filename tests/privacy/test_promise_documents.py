"""Promises as JSON and back: what is promised, to whom, and how neighbours are counted."""

from __future__ import annotations

import json

import giveortake as gt
from giveortake import codec
from giveortake.privacy import Guarantee

PROMISES: list[Guarantee] = [
    make(unit=unit, neighbours=neighbours)
    for make in (
        lambda **to: gt.PureDP("1/3", **to),
        lambda **to: gt.ApproxDP("1/3", "1e-9", **to),
        lambda **to: gt.ZCDP("2/7", **to),
        lambda **to: gt.GaussianDP("5/9", **to),
        lambda **to: gt.RenyiDP({2: "1/2", 8: "7/3"}, **to),
    )
    for unit in (gt.ROW, gt.unit("user_id"))
    for neighbours in ("add-remove", "change-one")
]


def test_a_promise_is_read_as_it_was_written_and_no_two_are_written_alike() -> None:
    texts = [json.dumps(codec.write(promise)) for promise in PROMISES]
    assert [codec.read(Guarantee, json.loads(text)) for text in texts] == PROMISES
    assert len(set(texts)) == len(PROMISES) == 20
