"""Loaded copies of CSV files: the same table, for their user alone; whatever is wrong with one, the file is read."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

import giveortake as gt
from giveortake.engines.duckdb import csv_files, tables
from giveortake.engines.duckdb.tables import LoadedCopies, open_database
from giveortake.engines.runtime import CacheFolder
from giveortake.plan import Kind

LARGE = tables.SMALLEST
KINDS = {"amount": Kind.REAL, "day": Kind.DATE, "late": Kind.BOOLEAN, "n": Kind.INTEGER}
ROWS = 'who,amount,day,late,n\nana,1.5,2013-01-01,true,9007199254740993\n"b,""o",nan,never,,\n,-inf,2013-12-31,no,x\n'


@pytest.fixture(autouse=True)
def every_file_is_large(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tables, "SMALLEST", 1)


@pytest.fixture
def reads(monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """The files that were read as text."""
    found: list[Path] = []

    def load_csv(connection: Any, table: str, path: Path, *said: Any) -> None:
        found.append(path)
        csv_files.load_csv(connection, table, path, *said)

    monkeypatch.setattr(tables, "load_csv", load_csv)
    return found


@pytest.fixture
def table(tmp_path: Path) -> Path:
    path = tmp_path / "trips.csv"
    path.write_text(ROWS, encoding="utf-8")
    return path


def content(path: Path, cache: Path | None, kinds: Mapping[str, Kind] = KINDS) -> tuple[Any, Any]:
    copies = None if cache is None else LoadedCopies(CacheFolder(cache))
    with open_database() as connection:
        loaded = tables.load(connection, "trips", path, dict(kinds), None, copies=copies)
        return loaded.source, connection.execute(f"SELECT * FROM {loaded.text} ORDER BY ALL").fetchall()


def copies_in(folder: Path) -> list[Path]:
    return sorted(folder.glob("*.duckdb"))


def only_copy(folder: Path) -> Path:
    (copy,) = copies_in(folder)
    return copy


def test_a_copy_is_the_same_table_and_the_file_is_read_as_text_once(
    table: Path, tmp_path: Path, reads: list[Path]
) -> None:
    plain, first, second = content(table, None), content(table, tmp_path / "c"), content(table, tmp_path / "c")
    assert repr(plain) == repr(first) == repr(second)  # repr: NaN is no equal of NaN
    assert len(reads) == 2  # without a folder, and the first time with one


def test_only_its_user_can_read_a_copy_or_its_name(table: Path, tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        content(table, tmp_path / "c")
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "c").stat().st_mode) == 0o700
    assert {stat.S_IMODE(path.stat().st_mode) for path in (tmp_path / "c").iterdir()} == {0o600}
    content(table, tmp_path / "d")
    names = [only_copy(tmp_path / folder).name for folder in "cd"]
    assert set(names[0].removesuffix(".duckdb").split("-")).isdisjoint(names[1].removesuffix(".duckdb").split("-"))
    assert "trips" not in names[0]


def test_a_file_that_changed_is_read_again_and_its_old_copy_is_removed(
    table: Path, tmp_path: Path, reads: list[Path]
) -> None:
    content(table, tmp_path / "c")
    old = only_copy(tmp_path / "c")
    times = table.stat()
    table.write_text(ROWS.replace("ana", "ann"), encoding="utf-8")
    os.utime(table, ns=(times.st_atime_ns, times.st_mtime_ns))  # of the same size and time
    assert "ann" in repr(content(table, tmp_path / "c"))
    assert len(reads) == 2
    assert only_copy(tmp_path / "c") != old


def test_other_declared_types_have_a_copy_of_their_own(table: Path, tmp_path: Path, reads: list[Path]) -> None:
    for kinds in (KINDS, {}, KINDS, {}):
        assert content(table, tmp_path / "c", kinds)[0] == content(table, None, kinds)[0]
    assert len(copies_in(tmp_path / "c")) == 2
    assert len(reads) == 4 + 2


def _flip_a_byte(copy: Path) -> None:
    written = bytearray(copy.read_bytes())
    written[len(written) // 2] ^= 1
    copy.write_bytes(written)


def _cut_off(copy: Path) -> None:
    copy.write_bytes(copy.read_bytes()[:-9])


def _empty(copy: Path) -> None:
    copy.write_bytes(b"")


def _let_others_write(copy: Path) -> None:
    copy.chmod(0o622)


def _replace_by_a_link(copy: Path) -> None:
    elsewhere = copy.parent / "elsewhere"
    copy.rename(elsewhere)
    copy.symlink_to(elsewhere)


def _replace_by_another_table(copy: Path) -> None:
    copy.unlink()
    with open_database() as connection:
        connection.execute(f"ATTACH '{copy}' AS other")
        connection.execute("CREATE TABLE other.kept_rows AS SELECT 'eve' AS who")
    copy.chmod(0o600)


@pytest.mark.parametrize(
    "damage", [_flip_a_byte, _cut_off, _empty, _let_others_write, _replace_by_a_link, _replace_by_another_table]
)
def test_a_copy_that_was_damaged_or_put_there_by_others_is_noticed_and_made_anew(
    damage: Callable[[Path], None], table: Path, tmp_path: Path, reads: list[Path]
) -> None:
    expected = repr(content(table, tmp_path / "c"))
    damage(only_copy(tmp_path / "c"))
    assert repr(content(table, tmp_path / "c")) == expected
    assert len(reads) == 2
    assert repr(content(table, tmp_path / "c")) == expected
    assert len(reads) == 2


def test_copies_of_another_secret_are_not_found(table: Path, tmp_path: Path, reads: list[Path]) -> None:
    content(table, tmp_path / "c")
    (tmp_path / "c" / "secret").write_bytes(bytes(32))
    content(table, tmp_path / "c")
    assert len(reads) == 2
    (tmp_path / "c" / "secret").chmod(0o644)  # others may know it: it proves nothing any more
    content(table, tmp_path / "c")
    assert len(reads) == 3


def test_a_folder_that_cannot_be_used_means_no_copy(table: Path, tmp_path: Path, reads: list[Path]) -> None:
    (tmp_path / "file").write_text("no folder", encoding="utf-8")
    for _ in range(2):
        assert repr(content(table, tmp_path / "file")) == repr(content(table, None))
    assert len(reads) == 4


def test_a_file_that_is_written_while_it_is_read_has_no_copy(
    table: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:

    def load_csv(connection: Any, name: str, path: Path, *said: Any) -> None:
        path.write_text(ROWS.replace("ana", "ann"), encoding="utf-8")
        csv_files.load_csv(connection, name, path, *said)

    monkeypatch.setattr(tables, "load_csv", load_csv)
    content(table, tmp_path / "c")
    assert not (tmp_path / "c").exists()


def test_a_session_asks_a_copy_that_is_removed_meanwhile(table: Path, tmp_path: Path, reads: list[Path]) -> None:
    def session() -> gt.session.Session:
        domains: dict[str, Any] = {"amount": (0, 10), "late": [True, False]}
        return gt.protect(
            table, unit=gt.ROW, budget=gt.PureDP(10**9), domains=domains, engine={"cache": tmp_path / "c"}
        )

    with session():
        pass
    with session() as second:
        only_copy(tmp_path / "c").unlink()
        answer = second.sql("SELECT COUNT(*) AS n, SUM(amount) AS s FROM trips").answer(epsilon=10**8)
    assert answer.to_polars().select("n", "s").rows() == [(3, pytest.approx(1.5, abs=0.01))]
    assert len(reads) == 1


def test_a_small_file_is_not_worth_a_copy(table: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tables, "SMALLEST", LARGE)
    content(table, tmp_path / "c")
    assert not (tmp_path / "c").exists()


def test_copies_that_nobody_used_for_a_month_and_half_written_ones_are_removed(table: Path, tmp_path: Path) -> None:
    other = tmp_path / "other.csv"
    other.write_text(ROWS, encoding="utf-8")
    content(other, tmp_path / "c")
    long_ago = only_copy(tmp_path / "c")
    half = tmp_path / "c" / "0.draft"
    half.touch()
    for path in (long_ago, half):
        os.utime(path, (0, 0))
    content(table, tmp_path / "c")
    assert not half.exists()
    assert only_copy(tmp_path / "c") != long_ago


def test_threads_and_processes_that_load_at_the_same_time_all_get_the_table(table: Path, tmp_path: Path) -> None:
    table.write_text(ROWS + "ana,1,2013-01-01,true,1\n" * 60_000, encoding="utf-8")  # above the least size
    expected, found = repr(content(table, None)), list[str]()
    threads = [threading.Thread(target=lambda: found.append(repr(content(table, tmp_path / "c")))) for _ in range(2)]
    code = (
        "from pathlib import Path; from giveortake.engines.duckdb import tables; from giveortake.plan import Kind;"
        "from giveortake.engines.duckdb.tables import open_database;"
        "from giveortake.engines.runtime import CacheFolder;"
        "from giveortake.engines.duckdb.tables import LoadedCopies;"
        f"copies, kinds = LoadedCopies(CacheFolder(Path({str(tmp_path / 'c')!r}))), {{'amount': Kind.REAL}};"
        "c = open_database(); print(c.execute('SELECT count(*) FROM '"
        f" + tables.load(c, 'trips', Path({str(table)!r}), kinds, None, copies=copies).text).fetchall())"
    )
    others = [subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True) for _ in range(1)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [expected] * 2
    assert [other.communicate()[0] for other in others] == ["[(60003,)]\n"]
    assert {other.returncode for other in others} == {0}
    assert not list((tmp_path / "c").glob("*.draft"))
