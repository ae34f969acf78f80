"""What is uploaded: a wheel that is built of the source archive, and works in a clean environment."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import zipfile
from importlib import metadata
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

import giveortake

pytestmark = pytest.mark.xdist_group("package")  # it is built once
ROOT = Path(__file__).resolve().parents[2]
WITHOUT_EXTRAS = {
    "psycopg",
    "pyspark",
    "altair",
    "scipy",
    "sklearn",
    "uvicorn",
    "pandas",
    "polars",
    "pyarrow",
}


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder with the wheel, which is built from the source archive, as `python -m build` does."""
    folder = tmp_path_factory.mktemp("dist")
    line = [sys.executable, "-m", "build", "--no-isolation", "--outdir", str(folder), str(ROOT)]
    done = subprocess.run(line, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return folder


@pytest.fixture(scope="module")
def clean(built: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An environment with the wheel, what it says it needs, and nothing else; the needed packages are not copied."""
    folder = tmp_path_factory.mktemp("clean")
    python = Path(getattr(sys, "_base_executable", sys.executable))
    subprocess.run([python, "-m", "venv", "--without-pip", folder], check=True)
    (wheel,) = built.glob("*.whl")
    pip = ["-m", "pip", "--python", str(folder / "bin" / "python"), "install"]
    options = ["--quiet", "--no-deps", "--no-index", "--no-compile", "--disable-pip-version-check"]
    subprocess.run([python, *pip, *options, wheel], check=True, capture_output=True)
    (places,) = folder.glob("lib/python3*/site-packages")
    for name in needed_by("giveortake"):
        for file in metadata.distribution(name).files or ():
            top = places / file.parts[0]
            if file.parts[0] not in {"..", "__pycache__"} and not top.exists():
                top.symlink_to(Path(str(metadata.distribution(name).locate_file(file.parts[0]))))
    return folder


def needed_by(name: str) -> set[str]:
    """What a distribution needs without any extra, and what that needs in turn."""
    found: set[str] = set()
    waiting = [name]
    while waiting:
        for line in metadata.requires(waiting.pop()) or ():
            needed = Requirement(line)
            is_needed = needed.marker is None or needed.marker.evaluate({"extra": ""})
            if is_needed and canonicalize_name(needed.name) not in found:
                found.add(canonicalize_name(needed.name))
                waiting.append(needed.name)
    return found


def run(clean: Path, *line: str) -> subprocess.CompletedProcess[str]:
    tool, *arguments = [clean / "bin" / line[0], *line[1:]]
    alone = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    return subprocess.run([tool, *arguments], cwd=clean, env=alone, capture_output=True, text=True, check=False)


@pytest.mark.long
def test_the_wheel_holds_the_package_with_its_types_and_nothing_else(built: Path) -> None:
    (wheel,) = built.glob("*.whl")
    names = set(zipfile.ZipFile(wheel).namelist())
    assert {name.partition("/")[0] for name in names} == {
        "giveortake",
        f"giveortake-{giveortake.__version__}.dist-info",
    }
    files = {path.relative_to(ROOT / "src").as_posix() for path in (ROOT / "src").rglob("*") if path.is_file()}
    assert {name for name in files if "__pycache__" not in name} == {name for name in names if "dist-info" not in name}
    assert "giveortake/py.typed" in names


@pytest.mark.long
def test_the_wheel_works_where_nothing_else_is_installed(clean: Path) -> None:
    version = run(clean, "giveortake", "--version")
    assert (version.returncode, version.stdout) == (0, f"giveortake {giveortake.__version__}\n")
    demo = run(clean, "giveortake", "demo")
    assert (demo.returncode, demo.stderr) == (0, "")
    assert "ε" in demo.stdout
    program = "import sys, giveortake as gt; print(gt.__file__); gt.protect; gt.laplace; print(*sys.modules)"
    where, loaded = run(clean, "python", "-c", program).stdout.splitlines()
    assert where.startswith(str(clean))
    assert not WITHOUT_EXTRAS & set(loaded.split())
    doctor = run(clean, "giveortake", "doctor")
    assert (doctor.returncode, doctor.stderr) == (0, "")
    assert set(re.findall(r"giveortake\[(\w+)\]", doctor.stdout)) == extras()  # which it lacks


def extras() -> set[str]:
    return set(metadata.metadata("giveortake").get_all("Provides-Extra") or ()) - {"dev"}


def test_every_extra_is_documented() -> None:
    page = (ROOT / "docs" / "install.md").read_text(encoding="utf-8")
    assert set(re.findall(r"^\| `(\w+)` \|", page, re.MULTILINE)) == extras()
