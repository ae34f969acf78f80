"""Texts as answers: checked, and as numbers that hash functions take."""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np

from giveortake.errors import HIDDEN, InvalidParameter
from giveortake.mechanisms.histogram import elements

PRIME = 2**31 - 1  # texts become numbers below it; two texts meet there with probability 2^-31


def checked_texts(values: Any) -> list[str]:
    """A list or a column of texts; anything else is refused, and not quoted."""
    listed = values if type(values) is list and set(map(type, values)) == {str} else elements(values)
    if set(map(type, listed)) - {str}:
        raise InvalidParameter("answer", HIDDEN, "is not a text")
    if not is_unicode("".join(listed)):
        raise InvalidParameter("answer", HIDDEN, "contains half a character (a lone surrogate)")
    return listed


def is_unicode(text: str) -> bool:
    """Whether a text can be encoded: it has no lone surrogates."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def numbered(texts: list[str]) -> tuple[list[str], np.ndarray[Any, np.dtype[np.int64]]]:
    """The different texts, and for each text which of them it is."""
    known = {text: place for place, text in enumerate(dict.fromkeys(texts))}
    return list(known), np.array(list(map(known.__getitem__, texts)), dtype=np.int64)


def fingerprints(texts: list[str]) -> list[int]:
    """Every text as a number below 2^31 − 1; the same on every machine."""
    known = {
        text: int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "big") % PRIME
        for text in set(texts)
    }
    return [known[text] for text in texts]
