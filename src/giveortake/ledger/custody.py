"""What a custodian decides: populations, data sets, analysts, budgets, approvals and tokens."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from giveortake.errors import NotFound
from giveortake.ledger import approvals, registration, tokens
from giveortake.ledger.budgets import Spent, change_budget
from giveortake.ledger.failures import Allowance, allowance
from giveortake.ledger.office import Office
from giveortake.ledger.standings import Standing, meant
from giveortake.ledger.tables import Registered, people_of, put

if TYPE_CHECKING:
    from collections.abc import Iterable

    from giveortake.ledger.approvals import Approval
    from giveortake.ledger.expiries import Expiry
    from giveortake.ledger.tokens import Principal, Role, TokenRecord
    from giveortake.privacy import Guarantee, Unit


class Custody(Office):
    """The custodian's calls of a ledger. Whoever decides may give a name, `by`, which the entry keeps."""

    def population(
        self,
        name: str,
        *,
        budget: Guarantee | None = None,
        unit: Unit | str | None = None,
        approval_above: Guarantee | None = None,
        analysts: registration.Analysts | None = None,
        failures: int | None = None,
        questions: int | None = None,
        by: str | None = None,
    ) -> Standing:
        """Register the people protected and their budget, or check that they are registered exactly so.

        `analysts` is "allotted" unless said otherwise: each has a budget of their own, taken from this one when it is
        granted, and nothing that one is told depends on another. "pooled" analysts draw from this budget together, so
        that each can see from what is left and what is refused how much the others have spent.
        `failures` and `questions` bound the custodian's own questions, as they do an analyst's.
        """
        with self._administering(by) as draft:
            registration.population(
                draft, name, budget, unit, approval_above, analysts=analysts, failures=failures, questions=questions
            )
        return self._standing(lambda book: book.population(name))

    def dataset(
        self,
        name: str,
        *,
        population: str | None = None,
        budget: Guarantee | None = None,
        unit: Unit | str | None = None,
        rows_per_person: int | None = None,
        domains: object = None,
        fingerprint: str | None = None,
        version: str = "1",
        owner_confirms: str | None = None,
        approval_above: Guarantee | None = None,
        by: str | None = None,
    ) -> Standing:
        """Register a table of a population. All its tables share one budget; this one may also have a cap."""
        with self._administering(by) as draft:
            registration.dataset(
                draft,
                name,
                population_name=population,
                budget=budget,
                protected=unit,
                rows_per_person=rows_per_person,
                domains=domains,
                fingerprint=fingerprint,
                version=version,
                owner_confirms=owner_confirms,
                approval_above=approval_above,
            )
        return self._standing(lambda book: book.dataset(name).level)

    def register(
        self,
        name: str,
        *,
        budget: Guarantee,
        unit: Unit | str,
        domains: object,
        fingerprint: str,
        first: str,
        population: str | None = None,
        new_population: str | None = None,
        owner_confirms: str | None = None,
        failures: int | None = None,
        declared: bool = True,
        by: str | None = None,
    ) -> Registered:
        """Register a table of people with a budget, or find it registered; other content is a new version.

        `population` names people who are registered already; `new_population` is the custodian's word that these are
        other people. Only on a ledger without people may both be left out; they are called `first` then.
        Domains are frozen once some were `declared` and a question was charged for the table.
        """
        with self._administering(by) as draft:
            people = people_of(draft.book, name, population, new_population, first=first)
            if people in draft.book.populations:
                failures = None  # what was said first holds
            registration.population(draft, people, budget, unit, None, failures=failures)
        with self._administering(by) as draft:  # the people are there now, and nobody else can take their name
            said = {"protected": unit, "domains": domains, "declared": declared}
            return put(draft, name, people, fingerprint=fingerprint, owner_confirms=owner_confirms, said=said)

    def new_version(
        self,
        dataset: str,
        *,
        version: str,
        fingerprint: str | None = None,
        owner_confirms: str | None = None,
        by: str | None = None,
    ) -> None:
        """Record that the table changed. Charges for all versions add up; stored answers stay about the old one."""
        with self._administering(by) as draft:
            registration.new_version(draft, dataset, version, fingerprint, owner_confirms)

    def versions(self, dataset: str) -> list[tuple[str, str | None]]:
        """The versions that a data set has had, oldest first, each with the fingerprint of its content."""
        with self.chain.looking() as draft:
            return list(draft.book.dataset(dataset).versions)

    def domains(self, dataset: str) -> Any:
        """The declared domains of a data set's columns; None if none were declared."""
        with self.chain.looking() as draft:
            return draft.book.dataset(dataset).domains

    def is_open(self, dataset: str) -> bool:
        """Whether its domains may change: none were declared, or nothing was charged for it yet."""
        with self.chain.looking() as draft:
            return registration.is_open(draft.book, dataset)

    def holder(self, fingerprint: str) -> tuple[str, str] | None:
        """The data set as which a table's content was first registered, and its population; None if it never was."""
        with self.chain.looking() as draft:
            name = registration.holder(draft, fingerprint)
            return None if name is None else (name, draft.book.dataset(name).population)

    def analyst(
        self,
        name: str,
        *,
        datasets: Iterable[str],
        budget: Guarantee | None = None,
        approval_above: Guarantee | None = None,
        failures: int | None = None,
        questions: int | None = None,
        by: str | None = None,
    ) -> Standing:
        """Let an analyst ask these data sets, within one budget for all of them together.

        It is an allotment: taken from the people's budget now and whole, and from then on the analyst's own, whatever
        others ask (`analysts="pooled"` people have caps instead, or none). `failures` is how many of their questions
        may fail before the custodian has to look, 3 unless stated, and `questions` how many they may ask at all.
        """
        with self._administering(by) as draft:
            names = registration.analyst(
                draft, name, datasets, budget, approval_above, failures=failures, questions=questions
            )
        return self._standing(lambda book: book.grants[name, names].level)

    def revoke(self, analyst: str, *, reason: str, by: str | None = None) -> None:
        """Revoke an analyst, who from now on can neither ask nor read answers."""
        self._grant_or_revoke("revoked", analyst, reason, by)

    def readmit(self, analyst: str, *, reason: str, by: str | None = None) -> None:
        """Take a revocation back; what was spent stays spent."""
        self._grant_or_revoke("readmitted", analyst, reason, by)

    def _grant_or_revoke(self, kind: str, analyst: str, reason: str, by: str | None) -> None:
        with self._administering(by) as draft:
            if not draft.book.grants_of(analyst):
                raise NotFound(f"the ledger has no analyst {analyst!r}")
            if (analyst in draft.book.revoked) != (kind == "revoked"):
                draft.add(kind, {"analyst": analyst, "reason": registration.named("reason", reason)})

    def change_budget(
        self, level: Standing, budget: Guarantee | Spent, *, reason: str, by: str | None = None
    ) -> Standing:
        """Replace a level's promise: its history is run again, and the change refused if it does not fit.

        `budget="spent"` lowers it to what was spent and given, whatever is charged until then.

        An allotment is best made large enough before the custodian's first question: of an (ε, δ) budget a raise
        afterwards is charged whole, beside what was set aside before. An allotment for a second name costs only its
        own size.
        """
        with self._administering(by) as draft:
            change_budget(draft, meant(draft.book, level), budget, reason)
        return self._standing(lambda book: book.levels[level.number])

    def reset_failures(self, level: Standing, *, reason: str, by: str | None = None) -> None:
        """Record that the custodian looked at what failed, and allow as many failures again."""
        with self._administering(by) as draft:
            looked_at = meant(draft.book, level)
            draft.add("forgiven", {"level": looked_at.number, "reason": registration.named("reason", reason)})

    def failures(self) -> list[Allowance]:
        """The failures that each analyst and the custodian may have and has had, and what these can reveal."""
        with self.chain.looking() as draft:
            return [allowance(level) for level in draft.book.levels.values() if level.kind != "data set"]

    def approvals(self, *, analyst: str | None = None, waiting: bool = False) -> list[Approval]:
        """Large spends that needed approval, with what was decided; with `waiting`, only those that wait.

        Of each analyst's closed requests, only the last two hundred are listed.
        """
        with self.chain.looking() as draft:
            return approvals.listed(draft, analyst=analyst, waiting=waiting)

    def granted(self, analyst: str) -> frozenset[str]:
        """The data sets that an analyst was granted, even if the analyst was revoked since."""
        with self.chain.looking() as draft:
            return frozenset(name for whom, names in draft.book.grants if whom == analyst for name in names)

    def waiting(self) -> list[int]:
        """The numbers of the requests that wait for approval."""
        with self.chain.looking() as draft:
            return approvals.waiting(draft)

    def approve(self, request: int, *, reason: str, expires: Expiry | None = None, by: str | None = None) -> None:
        """Let one large spend through, once, and only until `expires` if that is given."""
        with self._administering(by) as draft:
            approvals.approve(draft, request, reason, expires)

    def deny(self, request: int, *, reason: str, by: str | None = None) -> None:
        """Refuse one large spend. Whoever asks for it again is told so, with the reason."""
        with self._administering(by) as draft:
            approvals.deny(draft, request, reason)

    def issue_token(
        self,
        *,
        role: Role,
        analyst: str | None = None,
        expires: Expiry | None = None,
        by: str | None = None,
    ) -> tuple[str, str]:
        """Issue a token for a custodian or an analyst; return its id and its text, which is shown only once.

        It ends after 90 days unless `expires` says otherwise. The ledger keeps the SHA-256 of the text alone.
        """
        with self._administering(by) as draft:
            return tokens.issue(draft, role, analyst, expires)

    def revoke_token(self, token: str, *, reason: str, by: str | None = None) -> None:
        """Revoke the token of that id: it lets nobody in from now on."""
        with self._administering(by) as draft:
            tokens.revoke(draft, token, reason)

    def authenticate(self, text: str) -> Principal | None:
        """Whom a token lets in now; None alike if it is unknown, wrong, revoked or expired."""
        with self.chain.looking() as draft:
            return tokens.authenticate(draft, text)

    def tokens(self) -> list[TokenRecord]:
        """Every token that was issued, without secrets."""
        with self.chain.looking() as draft:
            return tokens.listed(draft)
