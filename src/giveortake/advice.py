"""Hints what to do about a refusal, in the words of each face: Python, command line, browser console, HTTP service.

A hint that names an argument, a call or a page is an `Advice`: it lists ways to go on, and each face shows those that
it has, in its own words, by the one table below. A hint that is the same everywhere is a plain text.
"""

from __future__ import annotations

import json
from string import Formatter
from typing import TYPE_CHECKING, Literal, TypeAlias, final

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

Face: TypeAlias = Literal["python", "command", "console", "service"]
FACES: tuple[Face, ...] = ("python", "command", "console", "service")

# -- the table ---------------------------------------------------------------------------------------------------------

FIELDS = {  # arguments that have a field in the console, and its label; all of them are options of commands
    "epsilon": "ε to spend",
    "delta": "δ of the answer",
    "rho": "ρ to spend",
    "mu": "μ to spend",
    "confidence": "Confidence",
    "caps": "Caps",
    "rows_per_person": "Rows of a person",
    "groups_per_person": "Groups of a person",
    "rows_per_group": "Rows in each group",
    "most_rows": "Rows of a person at most",
    "n": "Rows of a group, if that is public",
}
ARGUMENTS = frozenset(
    {*FIELDS, "margin", "share", "key_delta", "minimise", "ledger", "mark", "population", "new_population", "release"}
)

_PROFILE, _SHOW = "`giveortake profile FILE --epsilon 0.1 --most-rows N`", "`giveortake ledger show PATH`"
_CHANGE = "`giveortake admin budget change`"
_MOMENT = 'expires="2027-01-31", expires="2027-01-31T12:00:00+00:00", or expires=timedelta(days=30)'

_AT = "/v1/datasets/NAME"


def _terms(fields: str) -> str:
    return f'"terms": {{{fields}}}'


# an action in Python, by a command, in a browser, over HTTP; None if the face does not have it
DEEDS: dict[str, tuple[str | None, str | None, str | None, str | None]] = {
    # -- by whoever asks
    "pass": ("pass", "pass", "fill in", "send"),
    "state": ("state", "state", "fill in", "send"),
    "cap": (
        "answer(…, rows_per_person=10)",
        "--rows-per-person 10",
        "“Rows of a person”: 10",
        _terms('"rows_per_person": 10'),
    ),
    "caps_in_groups": (
        "answer(…, groups_per_person=4, rows_per_group=4)",
        "--groups-per-person 4, --rows-per-group 4",
        "“Groups of a person”: 4 with “Rows in each group”: 4",
        _terms('"groups_per_person": 4, "rows_per_group": 4'),
    ),
    "for_all": (
        "the custodian's gt.protect(…, rows_per_person=10)",  # analysts of a service see this too, in Python
        *("a TOML configuration", "the custodian", "the custodian"),
    ),
    "profile": ('s.profile().answer(epsilon="0.1")', _PROFILE, "the page Profile", f"POST {_AT}/profile"),
    "profiles": ("session.profile", _PROFILE, "the page Profile", f"POST {_AT}/profile"),
    "releases": ("session.releases()", _SHOW, "the page Releases", f"GET {_AT}/releases"),
    "refine": ('answer.refine(epsilon="0.1")', None, "a number beside “Refine”", _terms('"epsilon": "0.1"')),
    "workload": ("session.workload(…)", None, None, f"POST {_AT}/workload"),
    "norm": ("s.workload(w, norm=10)", None, None, '"norm": 10 in "workload"'),
    "fewer_tables": ("a smaller up_to=", None, None, "fewer tables"),
    "spool": (
        "pass the folder in which answers were stored: gt.ledger.at(…, spool=…)",
        None,
        "the custodian can name the folder in which answers were stored: spool in the configuration",
        "the custodian can name the folder in which answers were stored: spool in the configuration",
    ),
    "raise": (
        "the custodian can raise the budget",
        f"the custodian can raise the budget, with {_CHANGE}; {_SHOW} says what is left",
        "the custodian can grant more",
        "the custodian can raise the budget",
    ),
    # -- by the custodian
    "what_fits": (
        "`ledger.affordable` says which ε still fits; `ledger.change_budget` is the custodian's",
        f"{_SHOW} says which ε still fits; {_CHANGE} is the custodian's",
        "“left” says which ε still fits; “Change a promise” is the custodian's",
        f"GET {_AT}/budget says which ε still fits; POST /v1/budgets/LEVEL is the custodian's",
    ),
    "change_budget": ("`ledger.change_budget`", _CHANGE, "“Change a promise”", "POST /v1/budgets/LEVEL"),
    "readmit": (
        *("`ledger.readmit`", "`giveortake admin analyst readmit`", "the button Readmit"),
        "POST /v1/analysts/NAME/readmit",
    ),
    "admit": (
        'ledger.analyst("ann", datasets=["visits"])',
        "`giveortake admin analyst add`",
        "“Let somebody ask”",
        "POST /v1/analysts",
    ),
    "tokens": ("`ledger.tokens()`", "`giveortake admin token list`", "the list of tokens", "GET /v1/tokens"),
    "levels": ("`ledger.levels()`", _SHOW, "the list of budgets", "GET /v1/budgets"),
    "budget_with_delta": (
        "use an ApproxDP budget",
        "use a budget with a δ (--budget 1,1e-6)",
        "ask the custodian for a budget with a δ",
        "ask the custodian for a budget with a δ",
    ),
    "allotment": ("pass budget=", "pass --budget", "fill in an allotment", 'send "budget": {"epsilon": "1"}'),
    "pooled": ('register people with analysts="pooled", where one sees what others spend', None, None, None),
    "new_version": (
        *("`ledger.new_version`", "a new version of the table", "a restart of the service"),
        "a restart of the service",
    ),
    "register_again": (
        "call gt.protect again: it registers a new version",
        "ask again: that registers a new version",
        "the custodian restarts the service, which registers a new version",
        "the custodian restarts the service, which registers a new version",
    ),
    "open_again": (
        *("gt.protect(…) opens a session again, gt.ledger.open(…) a ledger", "ask again"),
        *("the custodian restarts the service", "the custodian restarts the service"),
    ),
    "trial": ('ledger=":memory:"', "--ledger :memory:", None, None),
    "people": (None, None, "“Who is in it” says which they are", None),
    "confirm": ("pass owner_confirms=, which is recorded", None, None, None),  # a TOML configuration can say it
    "moment": (_MOMENT, "--expires 2027-01-31", "choose how long it lasts", '"expires": "2027-01-31T12:00:00+00:00"'),
    "analyst_token": (
        'role="analyst", analyst="ann"',
        "--role analyst --analyst ann",
        "name the analyst",
        '"role": "analyst", "analyst": "ann"',
    ),
}


@final
class Advice(str):
    """Ways to go on, of which each face shows those that it has; as a plain text, in the words of Python.

    `{name}` in a way is an argument with its given value, an action of the table `DEEDS`, or a given text.

    >>> fix = Advice("{epsilon}", "{share}", epsilon="0.1", share="1/10")
    >>> print(fix, fix.on("command"), fix.on("console"), sep=" · ")
    epsilon="0.1", or share="1/10" · --epsilon 0.1, or --share 1/10 · “ε to spend”: 0.1
    >>> print(on("read the book", "console"), on(None, "console"))
    read the book None
    """

    __slots__ = ("_texts",)
    _texts: dict[Face, str | None]

    def __new__(cls, *ways: str, between: str = ", or ", **values: object) -> Advice:
        return cls.spoken({face: _face_text(face, ways, between, values) for face in FACES})

    @classmethod
    def spoken(cls, texts: Mapping[Face, str | None]) -> Advice:
        """An advice from its text on each face, as `on_all` returns it."""
        advice = super().__new__(cls, texts["python"] or "")
        advice._texts = dict(texts)
        return advice

    def on(self, face: Face) -> str | None:
        """The text for a face; None if the face has none of the ways."""
        return self._texts[face]

    def rewritten(self, write: Callable[[str], str]) -> Advice:
        """The advice with the text of each face rewritten."""
        return Advice.spoken({face: None if text is None else write(text) for face, text in self._texts.items()})

    def __reduce__(self) -> tuple[type[str], tuple[str]]:
        return str, (str(self),)  # pickled as its text for Python


def declaring(column: str, python: str, command: str) -> Advice:
    """The advice to declare what a column holds: by the custodian, or in a command about one's own table."""
    custodian = f"the custodian can declare them: {column}"
    return Advice.spoken(
        {
            "python": f'domains={{"{column}": {python}}} in gt.protect declares them',
            "command": f"--domain {column}={command} declares them",
            "console": custodian,
            "service": custodian,
        }
    )


def on(hint: str | None, face: Face) -> str | None:
    """The text of a hint for a face."""
    return hint.on(face) if isinstance(hint, Advice) else hint


def on_all(hint: str | None) -> dict[Face, str | None]:
    """The text of a hint for each face, for `Advice.spoken`."""
    return {face: on(hint, face) for face in FACES}


def _face_text(face: Face, ways: tuple[str, ...], between: str, values: dict[str, object]) -> str | None:
    phrases = [phrase for way in ways if (phrase := _way(face, way, values)) is not None]
    return between.join(phrases) or None


def _way(face: Face, way: str, values: dict[str, object]) -> str | None:
    """The text of one way for a face; None if it names something that the face does not have."""
    words: list[str] = []
    for text, name, _, _ in Formatter().parse(way):
        words.append(text)
        if name is not None:
            phrase = _named(face, name, values)
            if phrase is None:
                return None
            words.append(phrase)
    return "".join(words)


def _named(face: Face, name: str, values: dict[str, object]) -> str | None:
    if name in DEEDS:
        return DEEDS[name][FACES.index(face)]
    if name not in ARGUMENTS:
        return str(values[name])
    value = values.get(name)
    if isinstance(value, dict) and face in {"command", "console"}:  # these have one cap for all tables
        value = None
    match face:
        case "python":
            return f"{name}={_literal(value)}"
        case "service":
            return f'"{name}"{"" if value is None else f": {_literal(value)}"}'
        case "command":
            argument = "" if value is None else f' "{value}"' if " " in str(value) else f" {value}"
            return f"--{name.replace('_', '-')}{argument}"
        case "console":
            label = FIELDS.get(name)
            return None if label is None else f"“{label}”{'' if value is None else f': {value}'}"


def _literal(value: object) -> str:
    """A value as Python and JSON write it."""
    if isinstance(value, str | dict):
        return json.dumps(value, ensure_ascii=False)
    return "" if value is None else str(value)
