"""What a custodian decides and an auditor reads, as one table for all faces.

A row has a name, a route, the role that it is for, and a class. The class is a dataclass of the typed arguments; its
first sentence says what the operation does, and `run` does it to a ledger. The routes of the service with their checks,
the OpenAPI document, `giveortake admin` with its options, and the console's forms are made of the rows, so that an
operation is added by one class and one row.

Guarantee: a change is in the ledger, with `by` and its reason, before `run` returns.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import asdict, dataclass
from inspect import getdoc
from types import UnionType
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeAlias, Union, final, get_args, get_origin

from giveortake import codec
from giveortake.accounting.filters import Meter  # noqa: TC001 (the codec reads hints)
from giveortake.codec import Limits, Part
from giveortake.configuration import parse_budget
from giveortake.errors import AccessDenied, InvalidParameter, NotFound
from giveortake.exact import decimal, percent
from giveortake.ledger.budgets import promise_text
from giveortake.ledger.chain.entries import LONGEST_REASON
from giveortake.ledger.chain.state import TokenRole  # noqa: TC001 (the codec reads hints)
from giveortake.ledger.releases import minute
from giveortake.ledger.reservations import revealed
from giveortake.privacy import ApproxDP, PureDP
from giveortake.wire.documents import approval_document, entry_document, level_document, release_document

if TYPE_CHECKING:
    from giveortake.ledger import Approval, BudgetStatus, Ledger
    from giveortake.privacy import Guarantee

Document: TypeAlias = "dict[str, Any]"


# -- the types of arguments -------------------------------------------------------------------------------------------


@final
class Amount(str):
    """A number as it was stated: a text is exact."""

    __slots__ = ()

    @classmethod
    def of_json(cls, document: object) -> Amount:
        """Read a number, or the text of one."""
        if isinstance(document, bool) or not isinstance(document, str | int | float) or len(str(document)) > _DIGITS:
            raise ValueError
        return cls(document)


_DIGITS = 64
_AMOUNT = {"anyOf": [{"type": "number"}, {"type": "string", "minLength": 1, "maxLength": _DIGITS}]}
codec.scalar(Amount, str, Amount.of_json, _AMOUNT, shape="float")


@final
@dataclass(frozen=True, kw_only=True)
class Budget:
    """A guarantee as it is stated: ε, ε and δ, ρ, or μ."""

    epsilon: Amount | None = None
    delta: Amount | None = None
    rho: Amount | None = None
    mu: Amount | None = None

    @property
    def guarantee(self) -> Guarantee:
        """The guarantee, if it is exactly one."""
        return parse_budget({name: number for name, number in asdict(self).items() if number is not None})


def _guarantee(budget: Budget | str | None) -> Any:
    return budget.guarantee if isinstance(budget, Budget) else budget


Name: TypeAlias = Annotated[str, Limits(1, 200)]
Count: TypeAlias = Annotated[int, Limits(0, 10**9)]
Number: TypeAlias = Annotated[int, Limits(0, 10**15)]
Expiry: TypeAlias = Annotated[str, Limits(1, 40), "moment"]
Page: TypeAlias = Annotated[int, Limits(1, 1000)]
Reason: TypeAlias = Annotated[str, Limits(1, LONGEST_REASON), "why; it is kept in the ledger"]
_UNTIL = "2027-01-31, or 2027-01-31T12:00:00+00:00"


@dataclass(frozen=True, kw_only=True)
class Arguments(ABC):
    """The arguments of an operation, and what it does."""

    @abstractmethod
    def run(self, ledger: Ledger, by: str | None) -> Document:
        """Do it, in the name of `by`; return what became of it, with a `message` if something changed."""


class Reading(Arguments):
    """The arguments of an operation that changes nothing."""

    def run(self, ledger: Ledger, by: str | None) -> Document:
        """Read, in nobody's name."""
        del by
        return self.read(ledger)

    @abstractmethod
    def read(self, ledger: Ledger) -> Document:
        """What the ledger says."""


# -- who may ask ------------------------------------------------------------------------------------------------------


@final
@dataclass(frozen=True, kw_only=True)
class ListAnalysts(Reading):
    """List who may ask, and what is left to them."""

    def read(self, ledger: Ledger) -> Document:
        revoked = ledger.revoked()
        levels: dict[str, list[BudgetStatus]] = {}
        for level in ledger.levels():
            if level.kind == "analyst":
                levels.setdefault(level.name, []).append(level)
        analysts = [
            {
                "name": name,
                "datasets": sorted(ledger.granted(name)),
                "levels": [level_document(ledger, level) for level in own],
                "revoked": name in revoked,
            }
            for name, own in levels.items()
        ]
        return {"analysts": analysts}


@final
@dataclass(frozen=True, kw_only=True)
class AddAnalyst(Arguments):
    """Let somebody ask some data sets, within an allotment."""

    name: Annotated[Name, "what the analyst is called"]
    datasets: Annotated[tuple[Name, ...], Limits(1, 1000), "what they may ask"]
    budget: Annotated[Budget | None, "their allotment: taken from the people's budget now, and only theirs then"] = None
    approval_above: Annotated[Budget | None, "a larger spend at once waits for the custodian"] = None
    failures: Annotated[Count | None, "how many of their questions may fail; 3 unless stated"] = None
    questions: Annotated[Count | None, "how many questions they may ask at all"] = None
    meter: Annotated[Meter | None, "what shares of an (ε, δ) are measured in; unless stated, the first question"] = None

    def run(self, ledger: Ledger, by: str | None) -> Document:
        level = ledger.analyst(
            self.name,
            datasets=self.datasets,
            budget=_guarantee(self.budget),
            approval_above=_guarantee(self.approval_above),
            failures=self.failures,
            questions=self.questions,
            meter=self.meter,
            by=by,
        )
        cap = "" if level.budget is None else f", up to {promise_text(level.budget)}"
        message = f"{self.name} may ask {', '.join(self.datasets)}{cap}; a token lets them in"
        return level_document(ledger, level) | {"message": message}


@final
@dataclass(frozen=True, kw_only=True)
class RevokeAnalyst(Arguments):
    """Tell an analyst nothing more, not even what they have paid for."""

    analyst: Annotated[Name, "what the analyst is called"]
    reason: Reason

    def run(self, ledger: Ledger, by: str | None) -> Document:
        ledger.revoke(self.analyst, reason=self.reason, by=by)
        message = f"{self.analyst} can no longer ask or read answers; what was granted stays taken"
        return {"name": self.analyst, "revoked": True, "message": message}


@final
@dataclass(frozen=True, kw_only=True)
class ReadmitAnalyst(Arguments):
    """Take the revocation of an analyst back."""

    analyst: Annotated[Name, "what the analyst is called"]
    reason: Reason

    def run(self, ledger: Ledger, by: str | None) -> Document:
        ledger.readmit(self.analyst, reason=self.reason, by=by)
        message = f"{self.analyst} may ask again; what was spent stays spent"
        return {"name": self.analyst, "revoked": False, "message": message}


# -- tokens -----------------------------------------------------------------------------------------------------------


@final
@dataclass(frozen=True, kw_only=True)
class ListTokens(Reading):
    """List every token, without secrets."""

    def read(self, ledger: Ledger) -> Document:
        return {"tokens": [{**asdict(token), "valid": token.is_valid} for token in ledger.tokens()]}


@final
@dataclass(frozen=True, kw_only=True)
class IssueToken(Arguments):
    """Issue a token, whose text is shown this once."""

    role: Annotated[TokenRole | None, "whom it lets in; unless stated, the analyst, or else a custodian"] = None
    analyst: Annotated[Name | None, "the analyst whom it lets in"] = None
    expires: Annotated[Expiry | None, f"until when it is valid; 90 days unless stated: {_UNTIL}"] = None

    def run(self, ledger: Ledger, by: str | None) -> Document:
        role: TokenRole = self.role or ("custodian" if self.analyst is None else "analyst")
        token, text = ledger.issue_token(role=role, analyst=self.analyst, expires=self.expires, by=by)
        until = next(record.expires for record in ledger.tokens() if record.id == token)
        article = "an" if role == "auditor" else "a"
        holder = self.analyst or f"{article} {role}"
        message = f"It lets {holder} in until {minute(until)} UTC, and is not shown again: the ledger keeps its hash."
        return {"id": token, "token": text, "expires": until, "message": message}


@final
@dataclass(frozen=True, kw_only=True)
class RevokeToken(Arguments):
    """Let nobody in by a token any more."""

    token: Annotated[Name, "the token's id, as the list of tokens shows it"]
    reason: Reason

    def run(self, ledger: Ledger, by: str | None) -> Document:
        ledger.revoke_token(self.token, reason=self.reason, by=by)
        return {"revoked": self.token, "message": f"the token {self.token} is revoked: it lets nobody in any more"}


# -- budgets and limits -----------------------------------------------------------------------------------------------


@final
@dataclass(frozen=True, slots=True)
class Instead:
    """Marks an argument that says in another way what the argument of that name says."""

    of: str


@dataclass(frozen=True, kw_only=True)
class OneLevel(Arguments):
    """Arguments about one budget: by its number, or by whose it is."""

    level: Annotated[Number | None, "the number of the budget"] = None
    population: Annotated[Name | None, Instead("level"), "the budget of these people"] = None
    analyst: Annotated[Name | None, Instead("level"), "the allotment or cap of this analyst"] = None
    dataset: Annotated[
        Name | None, Instead("level"), "the cap of this data set; with an analyst, which of their budgets"
    ] = None

    def find(self, ledger: Ledger) -> BudgetStatus:
        """The budget that the arguments name."""
        matches = self._matches(ledger)
        if len(matches) > 1:
            own = ", ".join(sorted({name for level in matches for name in ledger.datasets_of(level)}))
            raise InvalidParameter(
                "dataset", None, f"is missing: {self.analyst!r} has {len(matches)} budgets", hint=f"one of {own}"
            )
        return matches[0]

    def _matches(self, ledger: Ledger) -> list[BudgetStatus]:
        named = [self.level, self.population, self.analyst]
        stated = sum(name is not None for name in named) or self.dataset is not None
        if stated != 1 or (self.dataset is not None and self.analyst is None and any(named)):
            raise InvalidParameter("level", None, "is missing: say whose budget it is, and of one alone", hint=_SUBJECT)
        levels = list(ledger.levels())
        if self.level is not None:
            matches = [level for level in levels if level.number == self.level]
            return matches or self._refuse("level", self.level, [str(level.number) for level in levels])
        kind = "population" if self.population else "analyst" if self.analyst else "data set"
        name = self.population or self.analyst or self.dataset
        matches = [level for level in levels if (level.kind, level.name) == (kind, name)]
        if not matches:
            self._refuse(kind, name, [level.name for level in levels if level.kind == kind])
        if self.analyst is None or self.dataset is None:
            return matches
        own = {level.number: ledger.datasets_of(level) for level in matches}
        return [level for level in matches if self.dataset in own[level.number]] or self._refuse(
            f"budget of {self.analyst!r} for", self.dataset, [name for names in own.values() for name in names]
        )

    @staticmethod
    def _refuse(kind: str, name: object, known: list[str]) -> list[BudgetStatus]:
        listed = ", ".join(sorted(set(known))) or "none"
        raise NotFound(f"the ledger has no {kind} {name!r}", hint=f"there are: {listed}")


_SUBJECT = "state population, analyst or dataset; if an analyst has several budgets, dataset says which of them"


@final
@dataclass(frozen=True, kw_only=True)
class ListBudgets(Reading):
    """List every budget, and what is left of it."""

    def read(self, ledger: Ledger) -> Document:
        return {"levels": [level_document(ledger, level) for level in ledger.levels()]}


@final
@dataclass(frozen=True, kw_only=True)
class ChangeBudget(OneLevel):
    """Change a promise: all that was charged is run again under the new one."""

    budget: Annotated[Budget | Literal["spent"], "the new promise; spent lowers it to what was spent and given"]
    reason: Reason

    def run(self, ledger: Ledger, by: str | None) -> Document:
        level = self.find(ledger)
        people = ledger.population_of(ledger.datasets_of(level)[0]) if level.kind == "analyst" else None
        before = None if people is None else ledger.affordable(people)
        changed = ledger.change_budget(level, _guarantee(self.budget), reason=self.reason, by=by)
        old = "none" if level.budget is None else promise_text(level.budget)
        lines = [
            f"{level.kind} {level.name}: {old} before, {promise_text(changed.budget)} from now on",
            "The old promise is void: all that was charged was run again under the new one, and fits.",
        ]
        if isinstance(level.budget, ApproxDP) and isinstance(changed.budget, PureDP):
            lines.append(
                f"It has no δ any more, so groups can no longer be found: it was {decimal(level.budget.delta)}."
            )
        if people is not None and people.allotted and before is not None:
            after = ledger.population(people.name)
            affordable = ledger.affordable(after)
            left = f"ε ≤ {decimal(affordable, 3)}" if affordable else "nothing"
            lines.append(
                f"Taken from the budget of {people.name}: {percent(after.given - people.given, 3)}. "
                f"Left there for others: ε ≤ {decimal(before, 3)} before, {left} from now on."
            )
        return level_document(ledger, changed) | {"message": "\n".join(lines)}


@final
@dataclass(frozen=True, kw_only=True)
class ChangeLimits(OneLevel):
    """Change a limit: what waits for approval, and how many questions may fail or be asked."""

    approval_above: Annotated[Budget | Literal["none"] | None, "a larger spend at once waits for the custodian"] = None
    failures: Annotated[Count | None, "how many questions may fail until the custodian has looked"] = None
    questions: Annotated[Count | Literal["none"] | None, "how many questions may be asked at all"] = None
    reason: Reason

    def run(self, ledger: Ledger, by: str | None) -> Document:
        limits: Document = {"failures": self.failures, "questions": self.questions}
        limits["approval_above"] = _guarantee(self.approval_above)
        changed = ledger.change_limits(self.find(ledger), **limits, reason=self.reason, by=by)
        stated = [
            f"{name.replace('_', ' ')} {promise_text(limit) if name == 'approval_above' and limit != 'none' else limit}"
            for name, limit in limits.items()
            if limit is not None
        ]
        message = f"{changed.kind} {changed.name}: {', '.join(stated)} from now on"
        return level_document(ledger, changed) | {"message": message}


# -- data sets --------------------------------------------------------------------------------------------------------


@final
@dataclass(frozen=True, kw_only=True)
class ListDatasets(Reading):
    """List every table, whose people are in it, and what is declared."""

    def read(self, ledger: Ledger) -> Document:
        datasets = [
            {
                "name": level.name,
                "population": ledger.population_of(level.name).name,
                "version": ledger.versions(level.name)[-1][0],
                "declared": _declared(ledger.domains(level.name)),
            }
            for level in ledger.levels()
            if level.kind == "data set"
        ]
        return {"datasets": datasets}


def _declared(domains: Any) -> list[str] | None:
    """The columns that have bounds, categories or a greatest length; None if nothing was declared yet."""
    if not isinstance(domains, dict):
        return None
    return [
        f"{table}.{column}" if len(domains) > 1 else column
        for table, columns in domains.items()
        if isinstance(columns, dict)
        for column, domain in columns.items()
        if isinstance(domain, dict) and {"low", "high", "categories", "longest"} & domain.keys()
    ]


# -- what waits, and what failed --------------------------------------------------------------------------------------


@final
@dataclass(frozen=True, kw_only=True)
class ListApprovals(Reading):
    """List large spends: what they ask and cost, and what was decided."""

    state: Annotated[Literal["waiting", "all"], "only those that wait, or all there were"] = "all"

    def read(self, ledger: Ledger) -> Document:
        approvals = ledger.approvals(waiting=self.state == "waiting")
        return {"approvals": [approval_document(approval) | _outlook(ledger, approval) for approval in approvals]}


def _outlook(ledger: Ledger, approval: Approval) -> Document:
    """The used share of the caller's own budget now, and after this spend; None where that cannot be said."""
    nothing = {"share": None, "share_after": None, "fits": None}
    if approval.state == "used":
        return nothing
    try:
        levels = ledger.levels(analyst=approval.analyst, dataset=approval.dataset)
        own = next(level for level in levels if approval.analyst is not None and level.budget is not None)
        trial = ledger.trial(own, dataset=approval.dataset, analyst=approval.analyst)
    except (AccessDenied, NotFound, StopIteration):
        return nothing
    if trial is None:
        return nothing
    after = trial.after(approval.event)
    return {
        "share": float(trial.share),
        "share_after": None if after is None else float(after.share),
        "fits": after is not None,
    }


@final
@dataclass(frozen=True, kw_only=True)
class Approve(Arguments):
    """Let one large spend through, once."""

    request: Annotated[Number, "its number, as the list of approvals shows it"]
    reason: Reason
    expires: Annotated[Expiry | None, f"until when it may be used; without end unless stated: {_UNTIL}"] = None

    def run(self, ledger: Ledger, by: str | None) -> Document:
        ledger.approve(self.request, reason=self.reason, expires=self.expires, by=by)
        message = f"request {self.request} is approved: asked again, it goes through, once"
        return {"request": self.request, "state": "approved", "message": message}


@final
@dataclass(frozen=True, kw_only=True)
class Deny(Arguments):
    """Refuse one large spend, with a reason that whoever asks again is told."""

    request: Annotated[Number, "its number, as the list of approvals shows it"]
    reason: Reason

    def run(self, ledger: Ledger, by: str | None) -> Document:
        ledger.deny(self.request, reason=self.reason, by=by)
        message = f"request {self.request} is denied, and whoever asks again is told why"
        return {"request": self.request, "state": "denied", "message": message}


@final
@dataclass(frozen=True, kw_only=True)
class ShowFailures(Reading):
    """Show how many failures each asker has observed, and what that can tell."""

    def read(self, ledger: Ledger) -> Document:
        failures = ledger.failures()
        documents = [
            {**asdict(failure), "bits": float(failure.bits), "revealed": float(failure.revealed)}
            for failure in failures
        ]
        return {"failures": documents, "revealed": float(revealed(failures))}


@final
@dataclass(frozen=True, kw_only=True)
class ResetFailures(OneLevel):
    """Allow as many failures again, once you have looked at what failed."""

    reason: Reason

    def run(self, ledger: Ledger, by: str | None) -> Document:
        level = self.find(ledger)
        ledger.reset_failures(level, reason=self.reason, by=by)
        return {"level": level.number, "message": f"{level.name}: as many questions may fail again as in the beginning"}


# -- the ledger -------------------------------------------------------------------------------------------------------


@final
@dataclass(frozen=True, kw_only=True)
class ListEntries(Reading):
    """List the ledger's entries, page after page."""

    after: Annotated[Number, "the number of the last entry that was read"] = 0
    limit: Annotated[Page, "how many at most"] = 100

    def read(self, ledger: Ledger) -> Document:
        entries = ledger.entries(after=self.after, limit=self.limit + 1)
        documents = [entry_document(entry) for entry in entries[: self.limit]]
        return {"entries": documents, "more": len(entries) > self.limit}


@final
@dataclass(frozen=True, kw_only=True)
class ListReleases(Reading):
    """List what everybody has paid for, the newest first."""

    after: Annotated[Name | None, "the id of the last release that was read"] = None
    limit: Annotated[Page, "how many at most"] = 100

    def read(self, ledger: Ledger) -> Document:
        releases = ledger.releases(after=self.after, limit=self.limit + 1, newest_first=True)
        documents = [release_document(release) for release in releases[: self.limit]]
        return {"releases": documents, "more": len(releases) > self.limit}


@final
@dataclass(frozen=True, kw_only=True)
class VerifyLedger(Reading):
    """Derive everything in the ledger anew, and compare; whoever asks meanwhile joins."""

    def read(self, ledger: Ledger) -> Document:
        return asdict(ledger.verify())


# -- what faces have to know of an argument ---------------------------------------------------------------------------

Kind: TypeAlias = Literal["budget", "names", "number", "choice", "moment", "text"]


def kind_of(part: Part) -> Kind:
    """How a face asks for an argument."""
    leaves = _leaves(part.hint)
    kinds: dict[Any, Kind] = {Budget: "budget", tuple: "names", int: "number", "moment": "moment", str: "text"}
    return next((kind for leaf, kind in kinds.items() if leaf in leaves), "choice")


def words_of(part: Part) -> tuple[str, ...]:
    """The words that an argument may be: all that it may be, or instead of a budget or a number."""
    return tuple(word for leaf in _leaves(part.hint) if get_origin(leaf) is Literal for word in get_args(leaf))


def _leaves(hint: Any) -> list[Any]:
    """The types that a hint allows, and what they are annotated with."""
    origin, parts = get_origin(hint), get_args(hint)
    if origin is Annotated:
        return [*_leaves(parts[0]), *parts[1:]]
    if origin in {Union, UnionType}:
        return [leaf for part in parts for leaf in _leaves(part)]
    return [tuple] if origin is tuple else [hint]


# -- the table --------------------------------------------------------------------------------------------------------


@final
@dataclass(frozen=True)
class Operation:
    """A row: an operation's name, its route, the role that it is for, and the class of its arguments.

    The name is the subject and the action of `giveortake admin`. An auditor's operations change nothing, and a
    custodian may do everything.
    """

    name: str
    route: str
    role: Literal["auditor", "custodian"]
    arguments: type[Arguments]

    @property
    def subject(self) -> str:
        """The first word of its name."""
        return self.name.split()[0]

    @property
    def action(self) -> str:
        """The second word of its name."""
        return self.name.split()[1]

    @property
    def summary(self) -> str:
        """What it does, in a sentence that begins with a small letter."""
        sentence = (getdoc(self.arguments) or "").split("\n")[0]
        return sentence[:1].lower() + sentence[1:].rstrip(".")

    @property
    def changes(self) -> bool:
        """Whether it may change the ledger."""
        return self.role == "custodian"

    @property
    def parts(self) -> dict[str, Part]:
        """The arguments by name."""
        return {part.name: part for part in codec.parts_of(self.arguments)}

    def parse(self, document: Document) -> Arguments:
        """The arguments in a document; whatever does not fit is refused before anything is done."""
        arguments: Arguments = codec.read(self.arguments, document, what=self.name)
        return arguments


OPERATIONS = (
    Operation("analyst list", "GET /v1/analysts", "auditor", ListAnalysts),
    Operation("analyst add", "POST /v1/analysts", "custodian", AddAnalyst),
    Operation("analyst revoke", "POST /v1/analysts/{analyst}/revoke", "custodian", RevokeAnalyst),
    Operation("analyst readmit", "POST /v1/analysts/{analyst}/readmit", "custodian", ReadmitAnalyst),
    Operation("token list", "GET /v1/tokens", "auditor", ListTokens),
    Operation("token issue", "POST /v1/tokens", "custodian", IssueToken),
    Operation("token revoke", "POST /v1/tokens/{token}/revoke", "custodian", RevokeToken),
    Operation("budget list", "GET /v1/budgets", "auditor", ListBudgets),
    Operation("budget change", "POST /v1/budgets/{level}", "custodian", ChangeBudget),
    Operation("budget limit", "POST /v1/budgets/{level}/limits", "custodian", ChangeLimits),
    Operation("dataset list", "GET /v1/ledger/datasets", "auditor", ListDatasets),
    Operation("approval list", "GET /v1/approvals", "auditor", ListApprovals),
    Operation("approval approve", "POST /v1/approvals/{request}/approve", "custodian", Approve),
    Operation("approval deny", "POST /v1/approvals/{request}/deny", "custodian", Deny),
    Operation("failures show", "GET /v1/failures", "auditor", ShowFailures),
    Operation("failures reset", "POST /v1/failures/{level}/reset", "custodian", ResetFailures),
    Operation("ledger entries", "GET /v1/ledger/entries", "auditor", ListEntries),
    Operation("ledger releases", "GET /v1/ledger/releases", "auditor", ListReleases),
    Operation("ledger verify", "POST /v1/ledger/check", "auditor", VerifyLedger),
)
BY_NAME = {operation.name: operation for operation in OPERATIONS}
SUBJECTS = {
    "analyst": "who may ask, and within which budget",
    "token": "secrets that let somebody into a service",
    "budget": "what everybody may spend, and further limits",
    "dataset": "the tables that can be asked about",
    "approval": "large spends, which wait for the custodian",
    "failures": "questions that ran out of memory, time or disk, of which each asker may observe a few",
    "ledger": "the ledger itself, in JSON",
}
