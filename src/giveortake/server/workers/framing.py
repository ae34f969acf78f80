"""Messages between a front process and its workers: a JSON document and some bytes, each after its length.

Workers import it before they set their own limits, so it imports nothing else of the package.
"""

from __future__ import annotations

import json
import struct
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import asyncio
    import socket

_LENGTHS = struct.Struct(">II")
MOST = 1 << 30  # bytes of a message; a greater one is no message of ours


def packed(document: dict[str, Any], content: bytes = b"") -> bytes:
    """A message as bytes."""
    text = json.dumps(document, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode()
    return b"".join((_LENGTHS.pack(len(text), len(content)), text, content))


def receive(connection: socket.socket) -> tuple[dict[str, Any], bytes]:
    """Receive the next message, blocking, in a worker; EOFError if the other side is gone."""
    text, content = _LENGTHS.unpack(_exactly(connection, _LENGTHS.size))
    document: dict[str, Any] = json.loads(_exactly(connection, text))
    return document, _exactly(connection, content)


async def read(reader: asyncio.StreamReader) -> tuple[dict[str, Any], bytes]:
    """Read the next message in the front process; IncompleteReadError, an EOFError, if the other side is gone."""
    text, content = _LENGTHS.unpack(await reader.readexactly(_LENGTHS.size))
    if text + content > MOST:
        raise EOFError
    document: dict[str, Any] = json.loads(await reader.readexactly(text))
    return document, await reader.readexactly(content) if content else b""


def _exactly(connection: socket.socket, count: int) -> bytes:
    parts, missing = [], count
    while missing:
        part = connection.recv(min(missing, 1 << 20))
        if not part:
            raise EOFError
        parts.append(part)
        missing -= len(part)
    return b"".join(parts)
