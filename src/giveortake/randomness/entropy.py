"""Random bytes, uniform integers, and real random numbers of which no more digits are drawn than a decision needs.

There is no generator object that holds a state: a small request goes straight to the operating system, a large
one is expanded by AES-256 in counter mode under a key that the operating system drew for that request alone.
So nothing can be copied by a fork, shared by two threads, rewound or seeded, and noise cannot repeat.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Protocol, TypeVar, final, runtime_checkable

import numpy as np
import numpy.typing as npt

from giveortake import exact
from giveortake.exact import whole

if TYPE_CHECKING:
    from collections.abc import Callable

    from giveortake.exact import Ball
    from giveortake.randomness.distributions import IntArray


_KEY_BYTES = 32
_SMALL = 1024  # up to here one system call is faster than setting up a cipher


@runtime_checkable
class Entropy(Protocol):
    """A source of independent, uniformly random bytes.

    The package has one source, `SystemEntropy`. The protocol is there so that tests can replay recorded bytes; a
    guarantee holds only for a source whose bytes are unpredictable.
    """

    @property
    def name(self) -> str:
        """The name of the source, for people who read a release's recipe."""

    def read(self, count: int) -> bytes | bytearray:
        """`count` fresh random bytes, never handed out before."""


@final
class SystemEntropy:
    """The operating system's generator, expanded by AES-256-CTR for bulk.

    Like every generator in use it is computationally secure, not perfectly random: a guarantee of differential
    privacy assumes ideal coins, and with these it holds against attackers who cannot break the cipher.
    """

    __slots__ = ()

    @property
    def name(self) -> str:
        """The generator's name, as written into recipes."""
        return "operating system, AES-256-CTR in bulk"

    def read(self, count: int) -> bytes | bytearray:
        """`count` fresh random bytes."""
        return os.urandom(count) if count <= _SMALL else _expanded(os.urandom(_KEY_BYTES), count)


SYSTEM_ENTROPY = SystemEntropy()


def words(entropy: Entropy, count: int) -> npt.NDArray[np.int64]:
    """`count` independent 64-bit words."""
    return np.frombuffer(entropy.read(8 * count), dtype=np.int64)


def word(entropy: Entropy) -> int:
    """One 64-bit word, as a signed integer."""
    return int.from_bytes(entropy.read(8), "little", signed=True)


def integer(entropy: Entropy, bits: int) -> int:
    """An integer uniform on 0 ... 2^bits - 1."""
    count = (bits + 7) // 8
    return int.from_bytes(entropy.read(count), "little") >> (8 * count - bits)


def _expanded(key: bytes, count: int) -> bytearray:
    # Imported here: the library loads in tens of milliseconds, and small requests never need it.
    from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes  # noqa: PLC0415 (heavy)

    # A counter that starts at zero is safe because the key is used for this one stream.
    stream = Cipher(algorithms.AES(key), modes.CTR(bytes(16))).encryptor()
    out = bytearray(count + 15)  # the cipher asks for room for one block more, less a byte
    stream.update_into(bytes(count), out)
    del out[count:]
    return out


_BLOCK = 1 << 16


def uniform_integers(bound: int, size: int, entropy: Entropy) -> IntArray:
    """Independent draws, uniform on 0 … bound − 1: candidates that are too large are drawn again, not reduced."""
    bits = (whole("bound", bound) - 1).bit_length()
    if bits > 63:
        return _large(bound, bits, size, entropy)
    if not bits:
        return np.zeros(size, dtype=np.int64)
    out = np.empty(size, dtype=np.int64)
    for start in range(0, size, _BLOCK):  # so that the words stay in the processor's cache
        part = out[start : start + _BLOCK]
        part[:] = _candidates(bits, part.size, entropy)
    pending = np.flatnonzero(out >= bound) if bound < 1 << bits else out[:0]
    while pending.size:
        out[pending] = _candidates(bits, pending.size, entropy)
        pending = pending[out[pending] >= bound]
    return out


def _candidates(bits: int, size: int, entropy: Entropy) -> IntArray:
    return (words(entropy, size).view(np.uint64) >> np.uint64(64 - bits)).view(np.int64)


def _large(bound: int, bits: int, size: int, entropy: Entropy) -> IntArray:
    out = np.empty(size, dtype=object)
    for index in range(size):
        candidate = integer(entropy, bits)
        while candidate >= bound:
            candidate = integer(entropy, bits)
        out[index] = candidate
    return out


T = TypeVar("T")

_MORE_BITS = 64
_GUARD_BITS = 32


@final
class Uniform:
    """A real number, uniform on [0, 1], of which `bits` binary digits are known so far.

    Digits not yet drawn are independent of everything that was decided from the known ones, so drawing them later
    gives the same law as drawing them all at the start.
    """

    __slots__ = ("_entropy", "bits", "numerator")

    def __init__(self, entropy: Entropy, numerator: int = 0, bits: int = 0) -> None:
        self._entropy = entropy
        self.numerator = numerator
        self.bits = bits

    def refine(self, bits: int = _MORE_BITS) -> None:
        """Draw `bits` more digits."""
        self.numerator = (self.numerator << bits) | integer(self._entropy, bits)
        self.bits += bits

    def ball(self) -> Ball:
        """The interval in which the number lies, by the digits known so far."""
        return exact.dyadic_ball(self.numerator, self.bits)

    def exponential(self) -> Ball:
        """-ln U: an exponential variable of mean one."""
        while self.numerator == 0:
            self.refine()
        return -self.ball().log()


def settle(decide: Callable[[], T | None], *sources: Uniform) -> T:
    """Ask `decide` with more and more digits of the sources, until it can tell.

    `decide` is a function of enclosures: it answers None while two outcomes are still possible. It can tell with
    probability one, because undecided points have measure zero.
    """
    while True:
        with exact.precision(max([source.bits for source in sources]) + _GUARD_BITS):
            outcome = decide()
        if outcome is not None:
            return outcome
        for source in sources:
            source.refine()
