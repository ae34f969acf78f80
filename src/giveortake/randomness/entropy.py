"""Where random bytes come from.

There is no generator object that holds a state: a small request goes straight to the operating system, a large
one is expanded by AES-256 in counter mode under a key that the operating system drew for that request alone.
So nothing can be copied by a fork, shared by two threads, rewound or seeded, and noise cannot repeat.
"""

from __future__ import annotations

import os
from typing import Protocol, final, runtime_checkable

import numpy as np
import numpy.typing as npt

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
