"""Rows on disk are gone with the process that put them there, however it ends."""

from __future__ import annotations

import signal
import stat
import subprocess
import sys
from pathlib import Path
from subprocess import PIPE

import pytest

from giveortake.engines.runtime import ScratchFolder

ENGINE = """
import sys
from giveortake.engines.duckdb.engine import DuckDBEngine
engine = DuckDBEngine(memory="100MB")
path = engine._scratch.path
(path / "rows").write_text("exact rows")
print(path, flush=True)
sys.stdin.read()
"""


@pytest.fixture(autouse=True)
def own_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    monkeypatch.setenv("TMPDIR", str(tmp_path))


def test_a_folder_is_its_users_alone_and_gone_when_it_is_closed() -> None:
    folder = ScratchFolder()
    assert stat.S_IMODE(folder.path.stat().st_mode) == 0o700
    assert all(stat.S_IMODE(each.stat().st_mode) == 0o600 for each in folder.path.iterdir())
    folder.remove()
    assert not folder.path.exists()


def test_the_rows_of_a_process_that_was_killed_are_removed_by_the_next_and_those_of_a_living_one_are_not() -> None:
    processes = [subprocess.Popen([sys.executable, "-c", ENGINE], stdin=PIPE, stdout=PIPE, text=True) for _ in range(2)]
    try:
        paths = [Path(process.stdout.readline().strip()) for process in processes if process.stdout is not None]
        assert all((path / "rows").is_file() for path in paths)
        processes[0].send_signal(signal.SIGKILL)
        processes[0].wait()
        assert paths[0].exists()
        folder = ScratchFolder()
        assert [path.exists() for path in paths] == [False, True]
        folder.remove()
    finally:
        for process in processes:
            process.kill()
            process.communicate()
