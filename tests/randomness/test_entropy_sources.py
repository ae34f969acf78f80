"""Random bytes never repeat, are shared by nobody, and cannot be seeded."""

from __future__ import annotations

import importlib
import inspect
import multiprocessing
import pkgutil
import threading
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from cases import all_cases
from giveortake import randomness
from giveortake.randomness import SYSTEM_ENTROPY, Entropy, SystemEntropy, discrete_gaussian, rounded_laplace
from giveortake.randomness.entropy import integer, word, words
from recorded_entropy import RecordedEntropy, ScriptedEntropy
from statistics_of_draws import are_uniform

if TYPE_CHECKING:
    from multiprocessing.connection import Connection

pytestmark = pytest.mark.system_entropy
SIZES = [1, 7, 1023, 1024, 1025, 1039, 1040, 1041, 65_536, 1_000_003]


@all_cases("count", [0, *SIZES])
def test_as_many_bytes_are_read_as_asked_for(count: int) -> None:
    assert len(SYSTEM_ENTROPY.read(count)) == count
    assert len(RecordedEntropy("sizes").read(count)) == count


@all_cases("count", SIZES[2:])
def test_two_reads_are_never_equal_and_no_piece_is_repeated(count: int) -> None:
    first, second = bytes(SYSTEM_ENTROPY.read(count)), bytes(SYSTEM_ENTROPY.read(count))
    pieces = [read[start : start + 16] for read in (first, second) for start in range(0, count - 15, 16)]
    assert len(set(pieces)) == len(pieces)


@pytest.mark.statistical
@all_cases("count", [1024, 1025])
def test_bytes_are_uniform_in_small_reads_and_in_bulk(count: int) -> None:
    read = b"".join(bytes(SYSTEM_ENTROPY.read(count)) for _ in range(100))
    assert are_uniform(np.frombuffer(read, dtype=np.uint8), 256)
    assert not are_uniform(np.frombuffer(read, dtype=np.uint8) | 1, 256)


@pytest.mark.statistical
def test_the_last_bytes_of_a_bulk_read_are_as_random_as_the_first() -> None:
    read = b"".join(bytes(SYSTEM_ENTROPY.read(1025))[-9:] for _ in range(2000))
    assert are_uniform(np.frombuffer(read, dtype=np.uint8), 256)


def test_the_source_of_the_system_holds_no_state() -> None:
    assert not hasattr(SYSTEM_ENTROPY, "__dict__")
    with pytest.raises(AttributeError):
        SYSTEM_ENTROPY.seed = 1  # type: ignore[attr-defined]
    with pytest.raises(AttributeError):
        SYSTEM_ENTROPY.name = "mine"  # type: ignore[misc]
    with pytest.raises(TypeError):
        SystemEntropy(1)  # type: ignore[call-arg]


def test_every_source_has_a_name_and_reads() -> None:
    for source in (SYSTEM_ENTROPY, RecordedEntropy(1), ScriptedEntropy([])):
        assert isinstance(source, Entropy)
        assert source.name


def test_a_recording_can_be_replayed_and_another_one_differs() -> None:
    first, again, other = RecordedEntropy(1), RecordedEntropy(1), RecordedEntropy(2)
    reads = [first.read(100), first.read(100)]
    assert reads == [again.read(100), again.read(100)]
    assert reads[0] != reads[1]
    assert other.read(100) not in reads


def test_words_and_integers_are_the_bytes_that_were_read() -> None:
    assert words(ScriptedEntropy([1, -2, 2**63]), 3).tolist() == [1, -2, -(2**63)]
    assert [word(ScriptedEntropy([number])) for number in (1, -2, 2**63)] == [1, -2, -(2**63)]
    for bits in (1, 7, 8, 9, 63, 64, 65, 1000):
        assert integer(ScriptedEntropy([], then=0xFF), bits) == 2**bits - 1
        assert integer(ScriptedEntropy([], then=0x00), bits) == 0


def noise() -> list[int]:
    drawn: list[int] = []
    for size in (1, 4, 100):  # one by one, a few, and an array
        drawn += rounded_laplace(Fraction(10**30), size, SYSTEM_ENTROPY).tolist()
        drawn += discrete_gaussian(Fraction(2**60), size, SYSTEM_ENTROPY).tolist()
    return drawn


def send_noise(pipe: Connection) -> None:
    pipe.send(noise())
    pipe.close()


@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")  # the children only draw
def test_forked_children_never_repeat_noise_of_their_parent_or_of_each_other() -> None:
    forking = multiprocessing.get_context("fork")
    everything = noise()  # the parent draws before, so that a child could inherit a state if there were one
    pipes: list[Connection] = []
    children: list[Any] = []
    for _ in range(4):
        receiver, sender = forking.Pipe(duplex=False)
        child = forking.Process(target=send_noise, args=(sender,))
        child.start()
        sender.close()
        pipes.append(receiver)
        children.append(child)
    everything += noise()
    for pipe, child in zip(pipes, children, strict=True):
        everything += pipe.recv()
        child.join()
        assert child.exitcode == 0
    assert len(everything) == 6 * 210
    assert len(set(everything)) == len(everything)


def test_concurrent_threads_never_share_noise() -> None:
    start = threading.Barrier(8)
    drawn: list[list[int]] = [[] for _ in range(8)]

    def work(number: int) -> None:
        start.wait()
        for _ in range(5):
            drawn[number] += noise()

    threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    everything = [value for values in drawn for value in values]
    assert len(everything) == 8 * 5 * 210
    assert len(set(everything)) == len(everything)


def public_callables() -> list[tuple[str, object]]:
    modules = [randomness]
    modules += [
        importlib.import_module(f"{randomness.__name__}.{m.name}") for m in pkgutil.iter_modules(randomness.__path__)
    ]
    found: list[tuple[str, object]] = []
    for module in modules:
        for name, member in vars(module).items():
            if callable(member) and getattr(member, "__module__", "").startswith(randomness.__name__):
                found.append((f"{module.__name__}.{name}", member))
                if inspect.isclass(member):
                    found += [
                        (f"{name}.{key}", value) for key, value in vars(member).items() if inspect.isfunction(value)
                    ]
    return found


def test_nothing_takes_a_seed() -> None:
    callables = public_callables()
    assert {"giveortake.randomness.rounded_laplace", "SystemEntropy.read"} <= {name for name, _ in callables}
    for name, member in callables:
        parameters = inspect.signature(member).parameters  # type: ignore[arg-type]
        forbidden = {"seed", "random_state", "rng", "generator", "state"} & {
            parameter.lower() for parameter in parameters
        }
        assert not forbidden, f"{name} takes {forbidden}"


def test_every_public_sampler_must_be_given_its_entropy() -> None:
    for name in randomness.__all__:
        member = getattr(randomness, name)
        if inspect.isfunction(member) and name not in {"narrowed", "integers"}:
            parameter = inspect.signature(member).parameters["entropy"]
            assert parameter.default is inspect.Parameter.empty
