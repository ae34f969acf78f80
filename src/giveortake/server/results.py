"""Results in the format that was asked for: JSON, Arrow IPC, Parquet, or CSV without formulas.

Workers write them. The front process hands their bytes on as they are: it has one loop for everybody, and reading or
writing a large document there would keep everybody waiting.
"""

from __future__ import annotations

import io
import json
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from giveortake.errors import InvalidParameter

if TYPE_CHECKING:
    from giveortake.answers import Answer

    Result = dict[str, Any] | tuple[dict[str, Any], bytes]

MEDIA = {
    "json": "application/json",
    "arrow": "application/vnd.apache.arrow.stream",
    "parquet": "application/vnd.apache.parquet",
    "csv": "text/csv; charset=utf-8",
}


def formatted(answer: Answer, wanted: str) -> Result:
    """An answer as the bytes of a file in a format, with the id of its release."""
    return {"release_id": answer.release_id}, _WRITERS[wanted](answer)


def written(document: dict[str, Any], release: str | None = None) -> Result:
    """A large JSON document as bytes, with the id of its release."""
    text = json.dumps(document, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return {"release_id": release}, text.encode()


def _json(answer: Answer) -> bytes:
    return answer.to_json().encode()


def _arrow(answer: Answer) -> bytes:
    try:
        import pyarrow  # noqa: PLC0415 (heavy, and optional)
    except ImportError:
        raise InvalidParameter(
            "format", "arrow", "is not available here: pyarrow is not installed", hint="format=parquet"
        ) from None
    out, table = io.BytesIO(), answer.to_arrow()
    with pyarrow.ipc.new_stream(out, table.schema) as writer:
        writer.write_table(table)
    return out.getvalue()


def _parquet(answer: Answer) -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "answer.parquet"
        answer.to_parquet(path)
        return path.read_bytes()


def _csv(answer: Answer) -> bytes:
    return (answer.to_csv() or "").encode()


_WRITERS = {"json": _json, "arrow": _arrow, "parquet": _parquet, "csv": _csv}
