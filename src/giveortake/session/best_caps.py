"""Choose the caps with the least total error by a released profile: the error of noise and of what caps leave out."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from giveortake.advice import Advice
from giveortake.answers.terms import LeftOut
from giveortake.compile import Caps
from giveortake.compile.measures import PersonCount
from giveortake.errors import InvalidParameter, QueryRefused
from giveortake.plan import Derive, Filter, JoinPublic, Scan
from giveortake.plan.relations import Unary
from giveortake.session import stored_answers
from giveortake.session.cap_candidates import Candidates, key_columns, left_out_by
from giveortake.session.profile_releases import FORMAT, ProfileRequest

if TYPE_CHECKING:
    from collections.abc import Sequence
    from fractions import Fraction

    from giveortake.answers.terms import CapLine
    from giveortake.compile import Measurement, Terms
    from giveortake.plan import Question, Relation
    from giveortake.session.mechanism import InteractiveMechanism
    from giveortake.session.profile import Profile

_IN_PART = "a profile describes the whole table, and this is a part of it"
_MOST_COMPARED = 24  # measures of a question: every choice of caps prices all of them again
_NO_PROFILE = "no profile of the table was at hand"
_NO_PROFILE_THAT_TELLS = "a profile describes the whole table, before any filter or join"
_OF_PERSONS = "a profile tells how many rows they leave out, and persons are counted here"


def with_best_caps(mechanism: InteractiveMechanism, question: Question, terms: Terms) -> Terms:
    """The terms, with the caps of the least total error at their spend in place of `caps="best"`.

    Guarantee: the choice reads the question, the schema and profiles that every level of the asker paid for, nothing
    else. It is post-processing for these levels; the caps that were chosen are part of what names the question.
    """
    if not terms.best_caps:
        return terms
    if terms.margin is not None:
        raise InvalidParameter(
            "caps",
            "best",
            "goes with a spend: it weighs noise against what caps leave out, and a margin already fixes the noise",
            hint=Advice(
                "{state} {epsilon} or {share} instead of the margin",
                "{state} the caps",
                epsilon="0.1",
                share="1/10",
            ),
        )
    stated = replace(terms, best_caps=False)
    table, why = profiled_table(question.relation)
    if table is None:
        caps = dict.fromkeys(_tables(question.relation), 10)
        ways = "{state} them; a profile of each table helps to choose: {rows_per_person}"
        raise QueryRefused(
            f"the best caps are taken from a profile of one table: {why}",
            hint=Advice(ways, rows_per_person=caps),
        )
    profile = profile_for(paid_profiles(mechanism, table), question)
    if profile is None or profile.rows is None:
        raise QueryRefused(
            f"the best caps are taken from a profile, and none of {table} was released to you",
            hint=Advice("{profile} makes one"),
        )
    candidates = Candidates(mechanism, question, stated, profile, table)
    if terms.share is not None:
        candidates = replace(candidates, terms=candidates.with_spend_of_share())
    best = candidates.best()
    return stated if best is None else replace(stated, caps=best)


def left_out_of(
    mechanism: InteractiveMechanism, question: Question, made: Measurement, sure: Fraction, terms: Terms | None = None
) -> LeftOut | None:
    """What the caps of a measurement leave out of the table, as far as the asker's own profiles tell; None: nothing.

    If `terms` are given, the result lists other caps at the same spend, too: none of them has a smaller error than
    those that `caps="best"` takes.
    """
    caps = made.binding_caps
    if caps is None:
        return None
    table, profile, why = known = _profile_that_tells(mechanism, question)
    if all(isinstance(each, PersonCount) for each in made.measures):
        everybody = not (question.keys or why)  # whoever has fewer rows is still there
        return None if everybody else LeftOut(None, None, None, sure, _OF_PERSONS, profiled=False)
    found = _left_out(known, question, caps, sure)
    if table is None or profile is None or terms is None:
        return found
    lines: tuple[CapLine, ...] = ()
    if terms.best_caps or len(made.measures) <= _MOST_COMPARED:
        free = replace(terms, best_caps=False) if terms.best_caps else replace(terms, caps=Caps())
        lines = Candidates(mechanism, question, free, profile, table).lines(made, is_best=terms.best_caps)
    return replace(found, lines=lines)


def left_out_under(
    mechanism: InteractiveMechanism, question: Question, caps: Caps | None, sure: Fraction
) -> LeftOut | None:
    """What caps leave out of the rows of a question, as far as the asker's own profiles tell; None: nothing."""
    return None if caps is None else _left_out(_profile_that_tells(mechanism, question), question, caps, sure)


def _left_out(known: tuple[str | None, Profile | None, str], question: Question, caps: Caps, sure: Fraction) -> LeftOut:
    table, profile, why = known
    if table is None or profile is None or why:
        return LeftOut(None, None, None, sure, why or _NO_PROFILE, profiled=profile is not None)
    return left_out_by(profile, question, caps, table, sure)


def _profile_that_tells(mechanism: InteractiveMechanism, question: Question) -> tuple[str | None, Profile | None, str]:
    """The table of a question, the best profile of it, and why that says nothing about the question, if it does not."""
    table, why = profiled_table(question.relation)
    profile = None if table is None else profile_for(paid_profiles(mechanism, table), question)
    if mechanism.part is not None:
        why = _IN_PART
    elif why and table is not None and profile is None:
        why = _NO_PROFILE_THAT_TELLS
    return table, profile, why


def paid_profiles(mechanism: InteractiveMechanism, table: str) -> list[Profile]:
    """The profiles of a table that the asker's own levels paid for, newest first; none in a part of the table.

    Guarantee: they are read from the ledger alone. Whatever is chosen by them is post-processing for these levels.
    """
    if mechanism.part is not None:
        return []
    found = []
    stored = mechanism.paid_profiles
    if stored is None:
        named: Any = {"version": mechanism.version, "analyst": mechanism.analyst, "before": mechanism.as_of}
        stored = tuple(mechanism.ledger.profiles(mechanism.dataset, **named))
    for request, release_id, content in stored:
        said = dict(request["profile"])
        if said.pop("format") == FORMAT and said["table"] == table:
            again = ProfileRequest.of(mechanism, **said)
            drawn = stored_answers.stored_of(content, len(again.dimensions))
            found.append(again.read(drawn, release_id))
    return found


def profiled_table(relation: Relation) -> tuple[str | None, str]:
    """The table that a relation is made of, and why its profile does not describe the relation ("" if it does).

    Columns that are added, or looked up for every row, leave the rows as they are.
    """
    why = ""
    while not isinstance(relation, Scan):
        if not isinstance(relation, Unary):
            return None, "the question is about several tables, and a profile describes one"
        keeps = isinstance(relation, Derive) or (isinstance(relation, JoinPublic) and relation.optional)
        if not keeps:
            what = "a filter" if isinstance(relation, Filter) else "a join, a union or a subquery"
            why = f"the profile describes the whole table, and there is none of the table after {what}"
        relation = relation.source
    return relation.table.name, why


def _tables(relation: Relation) -> list[str]:
    """The private tables that a relation is made of."""
    if isinstance(relation, Scan):
        return [relation.table.name]
    return [name for source in relation.sources for name in _tables(source)]


def profile_for(profiles: Sequence[Profile], question: Question) -> Profile | None:
    """The profile that knows the question's groups, else any; of several, the one with the least noise."""
    known = [each for each in profiles if each.rows is not None]
    if not known:
        return None
    keys = key_columns(question)
    return min(known, key=lambda each: (set(each.by) != keys, each.noise_scale))
