"""Many small cases in one test: they are collected once, run one after another, and all that fail are told together."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from functools import wraps
from typing import Any

import pytest

Test = Callable[..., None]


def every_case(names: str | tuple[str, ...], cases: Iterable[Any]) -> Callable[[Test], Test]:
    """As `pytest.mark.parametrize`, in one test. Fixtures are those of the whole test, the same for all cases."""
    listed = list(cases)

    def folded(test: Test) -> Test:
        plain = inspect.signature(test)
        own = (names,) if isinstance(names, str) else names

        @wraps(test)
        def all_cases(**fixtures: Any) -> None:
            failures = []
            for case in listed:
                values = (case,) if isinstance(names, str) else case
                try:
                    test(**dict(zip(own, values, strict=True)), **fixtures)
                except (Exception, BaseExceptionGroup, pytest.fail.Exception) as failure:  # noqa: BLE001 (told below, with all others)
                    failure.add_note(f"in the case {case!r}")
                    failures.append(failure)
            if failures:
                raise BaseExceptionGroup(f"{len(failures)} of {len(listed)} cases fail", failures)

        assert listed
        left = [parameter for name, parameter in plain.parameters.items() if name not in own]
        all_cases.__signature__ = plain.replace(parameters=left)  # type: ignore[attr-defined]  # (read by pytest)
        return all_cases

    return folded
