"""What all tests and examples share: names, one server, one browser, one Spark, and what takes how long."""

from __future__ import annotations

import gc
import json
import os
import shutil
import signal
import tempfile
from collections import Counter, defaultdict
from contextlib import AbstractContextManager, nullcontext
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

import hypothesis
import pytest

import giveortake
import tiers
from recorded_entropy import RecordedEntropy, recorded_system

if TYPE_CHECKING:
    from collections.abc import Iterator

    from demo_service import Running

ENGINES = "how-to-engines.md"
ANALYST = "analyst.md"  # asks a service
SERVERS = {"postgres", "postgresql"}  # what parameters call a place on a server
NEEDS = ("spark", "statistical", "browser", "postgres", "long")

# Laws are deterministic: no deadline on a shared machine, and the same examples in every run.
hypothesis.settings.register_profile("laws", deadline=None, derandomize=True)
hypothesis.settings.load_profile("laws")


FOLDERS = ("GIVEORTAKE_STATE", "XDG_CACHE_HOME")


def pytest_configure(config: pytest.Config) -> None:
    """Ctrl-C interrupts, and no test or process of a test writes into the user's own state or cache folder."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # as a shell starts what runs in its background
        signal.signal(signal.SIGINT, signal.default_int_handler)  # tests interrupt themselves and what they start
    if config.getoption("--long"):
        os.environ[tiers.LONG] = "yes"
    folder = tempfile.mkdtemp(prefix="giveortake-state-")
    before = {name: os.environ.get(name) for name in FOLDERS}
    os.environ.update({name: f"{folder}/{name}" for name in FOLDERS})

    def restore() -> None:
        shutil.rmtree(folder, ignore_errors=True)
        for name, value in before.items():
            os.environ.pop(name, None)
            if value is not None:
                os.environ[name] = value

    config.add_cleanup(restore)


def pytest_addoption(parser: pytest.Parser) -> None:
    """Times are printed when somebody wants them, and what takes long is run then."""
    parser.addoption("--times", action="store_true", help="print how long the tests of each package took")
    parser.addoption("--long", action="store_true", help="repeat more often what is repeated (see tests/tiers.py)")
    parser.addoption("--summary", type=Path, help="write counts and times as JSON")


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Iterator[None]:
    """Whatever is collected stays: ten thousand tests and all modules are not searched for garbage, now or later."""
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        gc.enable()


def pytest_unconfigure() -> None:
    """At the end it goes, so that what C++ holds of it is let go in order."""
    gc.unfreeze()


@pytest.hookimpl(wrapper=True)  # before xdist itself, which reads the groups when its turn comes
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> Iterator[None]:
    """Mark what needs more than this process, so that it can be left out, and keep each kind on one worker.

    What is marked `long` is left out without `--long`.

    There is one Spark, one browser and one server in a run: `--dist=loadgroup` sends each group to one process.
    """
    if not config.getoption("--long"):
        long = [item for item in items if item.get_closest_marker("long")]
        config.hook.pytest_deselected(items=long)
        items[:] = [item for item in items if not item.get_closest_marker("long")]
    for item in items:
        if item.path.name == ENGINES:
            item.add_marker(pytest.mark.xdist_group("spark"))
            item.add_marker(pytest.mark.filterwarnings("ignore"))
        needed = _needs(item)
        if item.path.name == ANALYST:
            item.add_marker(pytest.mark.xdist_group("service"))
        for need in needed:
            item.add_marker(need)
        group = needed[0] if needed else _common_draws(item)
        if "service" in getattr(item, "fixturenames", ()):
            group = group or "service"
        if group is not None and item.get_closest_marker("xdist_group") is None:
            item.add_marker(pytest.mark.xdist_group(group))
    yield


def _common_draws(item: pytest.Item) -> str | None:
    """The name of a test with several claims about the same draws: one process has all of them, and draws once."""
    if not isinstance(item, pytest.Function) or "claim" not in _parameters(item):
        return None
    return f"{item.path.stem}.{item.originalname}"


def _parameters(item: pytest.Item) -> dict[str, object]:
    return item.callspec.params if isinstance(item, pytest.Function) and hasattr(item, "callspec") else {}


def _needs(item: pytest.Item) -> list[str]:
    fixtures = set(getattr(item, "fixturenames", ()))
    places = {value for value in _parameters(item).values() if isinstance(value, str)}
    groups = {mark.args[0] for mark in item.iter_markers("xdist_group")}
    needs = {
        "spark": "spark" in groups | places | fixtures or item.get_closest_marker("cluster") is not None,
        "postgres": "server" in fixtures or bool(places & SERVERS) or item.path.name == ENGINES,
        "browser": "browser" in fixtures,
    }
    return [name for name, needed in needs.items() if needed]


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    """No test fails by chance: all noise that this process draws for it is recorded, and the same in every run."""
    is_recorded = item.get_closest_marker("system_entropy") is None
    with _loop(item), recorded_system(_name(item)) if is_recorded else nullcontext():
        return (yield)


@pytest.hookimpl(wrapper=True)
def pytest_fixture_setup(fixturedef: Any, request: pytest.FixtureRequest) -> Iterator[None]:
    """What several tests share draws the same whichever of them comes first."""
    if fixturedef.scope == "function":
        return (yield)
    with recorded_system((fixturedef.baseid, fixturedef.argname, getattr(request, "param", None))):
        return (yield)


def _name(item: Any) -> str:
    group = item.get_closest_marker("xdist_group")  # which xdist appends to the name
    return str(item.nodeid).removesuffix(f"@{group.args[0]}" if group else "")


@pytest.fixture
def entropy(request: pytest.FixtureRequest) -> RecordedEntropy:
    """Reproducible bytes, a stream of its own for every test."""
    return RecordedEntropy(_name(request.node))


@pytest.fixture(scope="session")
def server() -> Iterator[str]:
    """The URL of the one PostgreSQL server of this run."""
    from postgres_server import one_server  # noqa: PLC0415 (heavy)

    with one_server() as address:
        yield address


@pytest.fixture(scope="session")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """The one `giveortake serve --demo` of this run, with three analysts, two workers and a log."""
    from demo_service import running_demo  # noqa: PLC0415 (heavy)

    folder = tmp_path_factory.mktemp("service")
    with running_demo(folder, workers=2, log=folder / "service.log") as found:
        yield found


@pytest.fixture(scope="session")
def tampered(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """The one service of this run whose workers are killed, crash, or take as long as a test says."""
    from tampered_service import running_tampered  # noqa: PLC0415 (heavy)

    with running_tampered(tmp_path_factory.mktemp("tampered")) as found:
        yield found


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    """The one browser of this run."""
    from browser_window import opened_browser  # noqa: PLC0415 (heavy)

    with opened_browser() as found:
        yield found


def _loop(item: pytest.Item) -> AbstractContextManager[None]:
    """A test in the browser runs in the event loop of the browser, and every other one in a thread without a loop."""
    if "browser" not in getattr(item, "fixturenames", ()):
        return nullcontext()
    from browser_window import loop_of_the_browser  # noqa: PLC0415 (heavy)

    return loop_of_the_browser()


@pytest.fixture(autouse=True)
def _names_in_examples(doctest_namespace: dict[str, Any]) -> None:
    doctest_namespace["gt"] = giveortake


@pytest.fixture(autouse=True)
def _service_for_the_page_of_analysts(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """The address and the token that a custodian hands over."""
    if request.path.name == ANALYST:
        running = request.getfixturevalue("service")
        monkeypatch.setenv("GIVEORTAKE_URL", running.address)
        monkeypatch.setenv("GIVEORTAKE_TOKEN", running.tokens["ann"])


@pytest.fixture(autouse=True)
def _servers_for_the_page_about_engines(
    request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch, doctest_namespace: dict[str, Any]
) -> None:
    """A database `shop` with the table that comes with giveortake, where libpq's own variables say, and a Spark."""
    if request.path.name != ENGINES:
        return
    import psycopg  # noqa: PLC0415 (heavy, as what follows)

    from spark_session import spark_session  # noqa: PLC0415

    address = request.getfixturevalue("server")
    for name, value in psycopg.conninfo.conninfo_to_dict(address).items():
        if name in {"host", "port", "user"} and value:
            monkeypatch.setenv(f"PG{name.upper()}", str(value))
    visits = files("giveortake") / "data" / "visits.csv"
    with psycopg.connect(address, autocommit=True) as connection:
        connection.execute("DROP DATABASE IF EXISTS shop")
        connection.execute("CREATE DATABASE shop")
    with psycopg.connect("dbname=shop", autocommit=True) as connection, connection.cursor() as cursor:
        columns = "person_id text, region text, reason text, amount double precision"
        cursor.execute(f"CREATE TABLE visits ({columns})".encode())
        with cursor.copy(b"COPY visits FROM STDIN (FORMAT csv, HEADER)") as copy:
            copy.write(visits.read_bytes())
    spark_session()
    doctest_namespace["visits_csv"] = str(Path(str(visits)))


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    """How long the tests of each package took, and those that need something, added up over all workers."""
    summary = config.getoption("--summary")
    if not (summary or config.getoption("--times")):
        return
    seconds: dict[str, float] = defaultdict(float)
    tests: Counter[str] = Counter()
    for reports in terminalreporter.stats.values():
        for report in reports:
            if isinstance(report, pytest.TestReport):
                for name in (package_of(report.location[0]), *(need for need in NEEDS if need in report.keywords)):
                    seconds[name] += report.duration
                    tests[name] += report.when == "call"
    for title, names in {"package": seconds.keys() - set(NEEDS), "need": seconds.keys() & set(NEEDS)}.items():
        terminalreporter.section(f"seconds by {title}")
        for name in sorted(names, key=lambda name: -seconds[name]):
            terminalreporter.write_line(f"{seconds[name]:8.1f} s  {tests[name]:5} tests  {name}")
    if summary:
        outcomes = {
            name: len(terminalreporter.stats.get(name, ())) for name in ("passed", "failed", "error", "skipped")
        }
        times = {name: {"tests": tests[name], "seconds": round(seconds[name])} for name in sorted(seconds)}
        summary.parent.mkdir(exist_ok=True)
        summary.write_text(json.dumps({**outcomes, "times": times}), encoding="utf-8")


def package_of(path: str) -> str:
    """The package of a test or an example, by the path of its file from the root."""
    match Path(path).parts:
        case ("src", _, package, *_) | ("tests", package, _, *_):
            return Path(package).stem
        case ("benchmarks", *_):
            return "benchmarks"
    return "docs"
