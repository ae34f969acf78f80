"""CSV files: one cell changes nothing but itself, and no row makes the loading fail."""

from __future__ import annotations

import gzip
import random
from pathlib import Path

import duckdb
import pytest

from giveortake.engines.duckdb import csv_files
from giveortake.engines.duckdb.csv_files import load_csv, separator_of
from giveortake.errors import GiveOrTakeError, InvalidParameter
from giveortake.plan import Kind
from tiers import tiered

CONNECTION = duckdb.connect(":memory:")
KINDS = {"x": Kind.REAL, "i": Kind.INTEGER, "d": Kind.DATE}


def loaded(content: bytes, folder: Path) -> list[tuple[object, ...]]:
    path = folder / "t.csv"
    path.write_bytes(content)
    separator = separator_of(path)
    assert separator is not None
    load_csv(CONNECTION, "t", path, separator, KINDS)
    assert [name for (name,) in CONNECTION.execute("SELECT table_name FROM duckdb_tables()").fetchall()] == ["t"]
    rows = CONNECTION.execute("SELECT * FROM t").fetchall()
    CONNECTION.execute("DROP TABLE t")
    return rows


def test_a_cell_that_is_not_what_was_declared_is_missing_and_its_row_is_there(tmp_path: Path) -> None:
    rows = "".join(f"p{i},{'n/a' if i % 10 < 3 else i}\n" for i in range(1000))
    found = loaded(f"p,x\n{rows}".encode(), tmp_path)
    assert len(found) == 1000
    assert sum(value is None for _, value in found) == 300


def test_a_fraction_is_no_whole_number_and_nothing_is_rounded(tmp_path: Path) -> None:
    cells = {"3": 3, "3.0": 3, "1e3": 1000, "3.7": None, "-3.2": None, ".5": None, str(2**63 - 1): 2**63 - 1}
    cells |= {f"{2**63 - 1}.4": None, "9007199254740993": 9007199254740993}
    found = loaded(("p,i\n" + "".join(f"a,{each}\n" for each in cells)).encode(), tmp_path)
    assert [value for _, value in found] == list(cells.values())


@pytest.mark.parametrize(
    ("content", "rows"),
    [
        (b'p,x\na,"1"\n"b\nc",2\n', [("a", 1.0), ("b\nc", 2.0)]),
        (b"p,x\r\na,1\r\n", [("a", 1.0)]),
        (b"p,x\ra,1\rb,2\r", [("a", 1.0), ("b", 2.0)]),
        (b"p,x\na,1\rb,2\n", [("a", 1.0), ("b", 2.0)]),
        (b"p,x\na,1\r\nb,2\n", [("a", 1.0), ("b", 2.0)]),
        (b"p,x\na\nb,2\n", [("a", None), ("b", 2.0)]),
        (b"p,x\na,1,7,8\nb,2\n", [("a", 1.0), ("b", 2.0)]),
        (b"p,x\n\na,1\n\n", [("a", 1.0)]),
        (b"p,x\na\xff,1\nb,2\n", [("a\ufffd", 1.0), ("b", 2.0)]),
        (b"p,x\na\0b,1\nb,2\n", [("a\ufffdb", 1.0), ("b", 2.0)]),
        (b"\xef\xbb\xbfp,x\na,1\n", [("a", 1.0)]),
        ("p,x\nß,1\n".encode("utf-16"), [("ß", 1.0)]),
        ("p,x\nß,1\n".encode("utf-32"), [("ß", 1.0)]),
        (gzip.compress("p,x\nß,1\n".encode(), mtime=0), [("ß", 1.0)]),
        (gzip.compress("p,x\nß,1\n".encode("utf-16"), mtime=0), [("ß", 1.0)]),
        (b'p,x\n 1 , "2" \n', [(" 1 ", 2.0)]),
        (b'p,x\na"b,1\n', [('a"b', 1.0)]),
        (b'p,x\n"a""b",1\n', [('a"b', 1.0)]),
        (b"p,x\n", []),
        (b"p,x", []),
        (b"p;x\na;1\n", [("a", 1.0)]),
        (b"p;x;i\na;1,5;1\nb;-2e3;1,5\nc;1.234,5;x\n", [("a", 1.5, 1), ("b", -2000.0, None), ("c", None, None)]),
        (b'"p";"x"\n"a;b";"1,5"\n', [("a;b", 1.5)]),
        (b"p\tx\na,b\t1\n", [("a,b", 1.0)]),
        (b"p|x\na;b|1,5\n", [("a;b", None)]),
        (b"p;q,x\na;b,1\n", [("a;b", 1.0)]),
        (b'p,x\na,"1,5"\nb;2\n', [("a", None), ("b;2", None)]),
        (b'"p;q"\na;b\n', [("a;b",)]),
        ("p;x\nß;1,5\n".encode("utf-16"), [("ß", 1.5)]),
        (b"p,x\n" + b"z" * 3_000_000 + b",1\nb,2\n", [("z" * 1_000_001, 1.0), ("b", 2.0)]),
    ],
)
def test_files_are_read_by_the_stated_rules(content: bytes, rows: list[tuple[object, ...]], tmp_path: Path) -> None:
    assert sorted(loaded(content, tmp_path), key=repr) == sorted(rows, key=repr)


def test_names_of_columns_that_are_not_utf_8_are_refused_and_cells_are_not(tmp_path: Path) -> None:
    with pytest.raises(InvalidParameter, match="not UTF-8") as refused:
        loaded("p,région\na,b\n".encode("latin-1"), tmp_path)
    assert refused.value.hint is not None
    assert refused.value.hint.startswith("iconv -f latin1 -t utf-8 ")
    assert loaded("p,région\na,b\n".encode(), tmp_path) == [("a", "b")]


def test_an_empty_line_of_a_single_column_is_a_row(tmp_path: Path) -> None:
    assert loaded(b"p\na\n\nb\n", tmp_path) == [("a",), (None,), ("b",)]
    assert loaded(b"p\na\n\n\xff\n", tmp_path) == [("a",), (None,), ("\ufffd",)]


@pytest.mark.parametrize(
    "content",
    [
        b'p,x\nsecret,"1\nb,2\n',
        b'p,x\n"secret"s,1\n',
        b"p,p\nsecret,1\n",
        b"p,P\nsecret,1\n",
        b"p,\nsecret,1\n",
        b"\np,x\nsecret,1\n",
        b"",
    ],
)
def test_what_cannot_be_read_is_refused_without_a_word_of_it(content: bytes, tmp_path: Path) -> None:
    with pytest.raises(InvalidParameter) as refusal:
        loaded(content, tmp_path)
    assert "secret" not in str(refusal.value)
    assert refusal.value.__context__ is None or "secret" not in str(refusal.value.__context__)


@pytest.mark.parametrize("row", [b"1;17", b'1;17"', b'1;"17'])
@pytest.mark.parametrize(
    ("header", "separator"), [(b'id;diagonal, "', ";"), (b'id;"a,b"', ";"), (b'"id","a;b"', ","), (b'a"b,c', ",")]
)
def test_no_row_closes_a_quote_that_reading_in_a_wrong_way_has_opened(
    header: bytes, separator: str, row: bytes, tmp_path: Path
) -> None:
    path = tmp_path / "t.csv"
    path.write_bytes(header + b"\n" + row + b"\n")
    assert separator_of(path) == separator


@pytest.mark.parametrize("record", [b"a,b,c", b"a;b;c", b"a\tb", b"a|b", b'"a', b"", b"\xff"])
@pytest.mark.parametrize(
    ("header", "separator"), [(b"p", ","), (b"p,x", ","), (b"p;x", ";"), (b"p\tx", "\t"), (b"p|x", "|")]
)
def test_the_header_alone_decides_what_stands_between_cells(
    header: bytes, separator: str, record: bytes, tmp_path: Path
) -> None:
    path = tmp_path / "t.csv"
    path.write_bytes(header + b"\n" + record + b"\n")
    assert separator_of(path) == separator
    assert separator_of(path.rename(tmp_path / "t.tsv")) == "\t"


PIECES = ["a", "b", '"', '""', ",", "\n", "\r\n", " ", "1", "'", "#", "\\", "ß", "\t", "2024-01-31", ";"]


def _scribbled(luck: random.Random) -> str:
    return "".join(luck.choice(PIECES) for _ in range(luck.randint(0, 12)))


def _well_written(luck: random.Random, width: int, end: str) -> str:
    """Rows as a program would write them, any text inside of quotes."""

    def cell() -> str:
        text = _scribbled(luck).replace("\r\n", "\n").replace("\n", end)
        return '"' + text.replace('"', '""') + '"' if luck.random() < 0.7 else luck.choice(["", "1", "ß", " b"])

    return "".join(",".join(cell() for _ in range(width)) + end for _ in range(luck.randint(0, 5)))


def test_duckdb_and_the_reader_here_make_the_same_tables(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    luck = random.Random(7)  # noqa: S311 (texts for a test)
    by_duckdb = csv_files._read_by_duckdb
    taken = refused = 0

    def attempt(content: bytes) -> object:
        try:
            return sorted(loaded(content, tmp_path), key=repr)
        except GiveOrTakeError as refusal:
            return type(refusal)

    for turn in range(tiered(60, 600)):
        width, end = luck.randint(1, 3), luck.choice(["\n", "\r\n"])
        header = ",".join(["x", "i", "s"][:width]) + end
        content = (header + (_well_written(luck, width, end) if turn % 2 else _scribbled(luck))).encode()
        seen: list[bool] = []
        monkeypatch.setattr(csv_files, "_read_by_duckdb", lambda *a, seen=seen: seen.append(by_duckdb(*a)) or seen[-1])
        first = attempt(content)
        monkeypatch.setattr(csv_files, "_read_by_duckdb", lambda *_: False)
        assert attempt(content) == first, content
        taken += seen == [True]
        refused += isinstance(first, type)
    assert taken > 15
    assert refused > 2
