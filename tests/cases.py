"""Many small cases in one test, which tries all of them and reports every failure.

Written like `pytest.mark.parametrize`, for cases that take milliseconds: a test of its own for each would cost more
than the case. Fixtures are shared by the cases of a test.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeAlias

import pytest
from hypothesis import settings

from tiers import tiered

Test: TypeAlias = Callable[..., None]
Named = type(pytest.param())

some_examples = settings(max_examples=tiered(40, 100))  # of a law that is simple


def all_cases(names: str | Sequence[str], cases: Iterable[Any], *, ids: Iterable[str] = ()) -> Callable[[Test], Test]:
    """Call the test with each case in turn. A failure notes the case: its id, or else its values."""
    parameters = [names] if isinstance(names, str) else list(names)
    listed = [case if isinstance(case, Named) else _named(case, len(parameters)) for case in cases]
    labels: list[Any] = [*ids] or [case.id for case in listed]
    assert len(labels) == len(listed) > 0

    def decorate(test: Test) -> Test:
        signature = inspect.signature(test)
        assert set(parameters) <= set(signature.parameters), parameters

        @functools.wraps(test)
        def loop(**fixtures: Any) -> None:
            failures: list[BaseException] = []
            for label, case in zip(labels, listed, strict=True):
                values = dict(zip(parameters, case.values, strict=True))
                try:
                    test(**fixtures, **values)
                except (Exception, pytest.fail.Exception) as error:  # noqa: BLE001 (raised below)
                    error.add_note(f"case: {label or values}")
                    failures.append(error)
            if len(failures) == 1:
                raise failures[0]
            if failures:
                raise BaseExceptionGroup(f"{len(failures)} of {len(listed)} cases failed", failures)

        others = [parameter for name, parameter in signature.parameters.items() if name not in parameters]
        loop.__signature__ = signature.replace(parameters=others)  # type: ignore[attr-defined]
        return loop

    return decorate


def _named(case: Any, count: int) -> Any:
    return pytest.param(case) if count == 1 else pytest.param(*case)
