"""What to do about a refusal, said once for every face: Python, the command line, the console in a browser, a service.

A hint that names an argument, a call or a page is an `Advice`: it lists ways, and each face tells those that it has,
in its own words, by the one table below. Whatever reads alike everywhere is a plain text.
"""

from __future__ import annotations

from string import Formatter
from typing import TYPE_CHECKING, Literal, TypeAlias, final

if TYPE_CHECKING:
    from collections.abc import Mapping

Face: TypeAlias = Literal["python", "command", "console", "service"]
FACES: tuple[Face, ...] = ("python", "command", "console", "service")

# -- the table ---------------------------------------------------------------------------------------------------------

FIELDS = {  # arguments that a page has a field for, and what is written beside it; all of them are options of commands
    "epsilon": "ε to spend",
    "delta": "δ of the answer",
    "rho": "ρ to spend",
    "mu": "μ to spend",
    "confidence": "Sure with",
    "rows_per_person": "Rows of a person",
    "groups_per_person": "Groups of a person",
    "rows_per_group": "Rows in each group",
    "most_rows": "Rows of a person at most",
    "n": "Rows of a group, if that is public",
}
ARGUMENTS = frozenset(
    {*FIELDS, "margin", "share", "key_delta", "caps", "ledger", "mark", "population", "new_population"}
)

_PROFILE, _SHOW = "`giveortake profile FILE --epsilon 0.1 --most-rows N`", "`giveortake ledger show PATH`"
_CHANGE = "`giveortake admin budget change`"
_MOMENT = 'expires="2027-01-31", expires="2027-01-31T12:00:00+00:00", or expires=timedelta(days=30)'

# what is done: in Python, by a command, in a browser; None where a face cannot
# (of a service as in Python, but for what `SERVICE` says)
DEEDS: dict[str, tuple[str | None, str | None, str | None]] = {
    # -- by whoever asks
    "pass": ("pass", "pass", "fill in"),
    "state": ("state", "state", "fill in"),
    "cap": ("answer(…, rows_per_person=10)", "--rows-per-person 10", "“Rows of a person”: 10"),
    "caps_in_groups": (
        "answer(…, groups_per_person=4, rows_per_group=4)",
        "--groups-per-person 4, --rows-per-group 4",
        "“Groups of a person”: 4 with “Rows in each group”: 4",
    ),
    "for_all": ("gt.protect(…, rows_per_person=10)", "a TOML configuration", "the custodian"),
    "profile": ('s.profile(epsilon="0.1")', _PROFILE, "the page Profile"),
    "profiles": ("session.profile", _PROFILE, "the page Profile"),
    "releases": ("session.releases()", _SHOW, "the page Releases"),
    "refine": ('answer.refine(epsilon="0.1")', None, "a number beside “Refine”"),
    "raise": (
        "the custodian can raise the budget",
        f"the custodian can raise the budget, with {_CHANGE}; {_SHOW} says what is left",
        "the custodian can grant more",
    ),
    # -- by the custodian
    "what_fits": (
        "`ledger.affordable` says which ε still fits; `ledger.change_budget` is the custodian's",
        f"{_SHOW} says which ε still fits; {_CHANGE} is the custodian's",
        "“left” says which ε still fits; “Change a promise” is the custodian's",
    ),
    "change_budget": ("`ledger.change_budget`", _CHANGE, "“Change a promise”"),
    "readmit": ("`ledger.readmit`", "`giveortake admin analyst readmit`", "the button Readmit"),
    "admit": ("`ledger.analyst`", "`giveortake admin analyst add`", "“Let somebody ask”"),
    "tokens": ("`ledger.tokens()`", "`giveortake admin token list`", "the list of tokens"),
    "levels": ("`ledger.levels()`", _SHOW, "the list of budgets"),
    "budget_with_delta": (
        "use an ApproxDP budget",
        "use a budget with a δ (--budget 1,1e-6)",
        "ask the custodian for a budget with a δ",
    ),
    "allotment": ("pass budget=", "pass --budget", "fill in an allotment"),
    "pooled": ('register people with analysts="pooled", where one sees what others spend', None, None),
    "new_version": ("`ledger.new_version`", "a new version of the table", "a restart of the service"),
    "trial": ('ledger=":memory:"', "--ledger :memory:", None),
    "people": (None, None, "“Who is in it” says which they are"),
    "confirm": ("pass owner_confirms=, which is recorded", None, None),  # a TOML configuration can say it
    "moment": (_MOMENT, "--expires 2027-01-31", "choose how long it lasts"),
}

SERVICE = {  # where somebody asks a service: what is otherwise than in Python; None where they cannot
    "for_all": "the custodian",
}


@final
class Advice(str):
    """Ways to go on, of which each face tells those that it has; as a text it speaks Python.

    `{name}` in a way is an argument with the value that is given for it, a deed of the table, or a text that is given.

    >>> fix = Advice("{epsilon}", "{share}", epsilon="0.1", share="1/10")
    >>> print(fix, fix.on("command"), fix.on("console"), sep=" · ")
    epsilon="0.1", or share="1/10" · --epsilon 0.1, or --share 1/10 · “ε to spend”: 0.1
    >>> print(on("read the book", "console"), on(None, "console"))
    read the book None
    """

    __slots__ = ("_said",)
    _said: dict[Face, str | None]

    def __new__(cls, *ways: str, between: str = ", or ", **values: object) -> Advice:
        return cls.spoken({face: _told(face, ways, between, values) for face in FACES})

    @classmethod
    def spoken(cls, said: Mapping[Face, str | None]) -> Advice:
        """What was told elsewhere, in the words of each face."""
        found = super().__new__(cls, said["python"] or "")
        found._said = dict(said)
        return found

    def on(self, face: Face) -> str | None:
        """The ways that a face has, in its words; None if it has none."""
        return self._said[face]

    def __reduce__(self) -> tuple[type[str], tuple[str]]:
        return str, (str(self),)  # elsewhere it is what Python says


def on(hint: str | None, face: Face) -> str | None:
    """A hint as a face says it."""
    return hint.on(face) if isinstance(hint, Advice) else hint


def on_all(hint: str | None) -> dict[Face, str | None]:
    """A hint as each face says it, for `Advice.spoken`."""
    return {face: on(hint, face) for face in FACES}


def _told(face: Face, ways: tuple[str, ...], between: str, values: dict[str, object]) -> str | None:
    found = [said for way in ways if (said := _way(face, way, values)) is not None]
    return between.join(found) or None


def _way(face: Face, way: str, values: dict[str, object]) -> str | None:
    """One way as a face says it, or None if it names something that the face has not."""
    words: list[str] = []
    for text, name, _, _ in Formatter().parse(way):
        words.append(text)
        if name is not None:
            said = _named(face, name, values)
            if said is None:
                return None
            words.append(said)
    return "".join(words)


def _named(face: Face, name: str, values: dict[str, object]) -> str | None:
    if name in DEEDS:
        return SERVICE.get(name, DEEDS[name][0]) if face == "service" else DEEDS[name][FACES.index(face)]
    if name not in ARGUMENTS:
        return str(values[name])
    value = values.get(name)
    match face:
        case "python" | "service":
            written = "" if value is None else f'"{value}"' if isinstance(value, str) else value
            return f"{name}={written}"
        case "command":
            written = "" if value is None else f' "{value}"' if " " in str(value) else f" {value}"
            return f"--{name.replace('_', '-')}{written}"
        case "console":
            label = FIELDS.get(name)
            return None if label is None else f"“{label}”{'' if value is None else f': {value}'}"
