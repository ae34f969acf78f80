"""Where an answer comes from: what it promises, what was done and by whose theorems, in words and without any coin."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from giveortake.compile.caps import Caps
from giveortake.compile.measures import PersonCount
from giveortake.compile.rules import Rules

if TYPE_CHECKING:
    from giveortake.compile.measurement import Measurement
    from giveortake.compile.spends import Spend
    from giveortake.privacy import Unit


def provenance(made: Measurement, spend: Spend, unit: Unit) -> dict[str, Any]:
    """What an answer says besides its table, as far as the question and its price decide it."""
    promise = made.promise(spend, unit)
    return {
        "guarantee": promise,
        "cost": promise,
        "citations": tuple(dict.fromkeys(_citations(made))),
        "recipe": _recipe(made, spend),
        "notes": _notes(made),
        "caps": caps_of(made),
    }


def _citations(made: Measurement) -> list[str]:
    keys = [] if made.selection is None or made.rules is Rules.FIRST else [made.selection.mechanism.citation]
    return [*keys, *(noise.citation for noise in made.noises)]


def noise_in_words(made: Measurement) -> dict[str, str]:
    """The noise of every measure, by its name."""
    return {each.name: each.described(noise) for each, noise in zip(made.measures, made.noises, strict=True)}


def caps_of(made: Measurement) -> Caps | None:
    """The caps that bear on an answer; None if everything counts."""
    stability, relation = made.stability, made.question.relation
    read = {each.table.name: each.most_rows_of_person for each in relation.scans()}
    rows = {name: most for name, most in read.items() if most is not None}
    total = rows if len(read) > 1 and rows else next(iter(rows.values()), None)
    groups = rows_in_group = None
    rows_count = made.caps.rows_per_group and not all(isinstance(each, PersonCount) for each in made.measures)
    if stability.is_cut and rows_count:
        groups, rows_in_group = stability.groups if stability.grouped else None, stability.rows_in_group
    elif stability.is_cut and stability.grouped and (stability.keys is None or stability.touched < stability.keys):
        groups = stability.groups
    found = Caps(groups, rows_in_group, total)
    return found if found.stated else None


def caps_in_words(made: Measurement) -> str | None:
    """How much of one person counts, if anything is capped."""
    caps = caps_of(made)
    return None if caps is None else str(caps)


def of_units(made: Measurement, text: str) -> str:
    """What is said of persons, said of rows where these protect themselves; 0.1 did not."""
    of_persons = made.question.relation.person is not None or made.rules is Rules.FIRST
    return text if of_persons else text.replace("person", "row")


def _recipe(made: Measurement, spend: Spend) -> dict[str, object]:
    """The spend, the caps, how keys are found, and the noise of every measure."""
    steps: dict[str, object] = {"spend": str(spend)}
    caps = caps_in_words(made)
    if caps is not None:
        steps["contributions"] = caps
    if made.selection is not None:
        found = f"found in the data: shown if {made.selection.told}, of at most {made.selection.touched} keys of each"
        steps["keys"] = of_units(made, found)
    return {**steps, **noise_in_words(made)}


def _notes(made: Measurement) -> tuple[str, ...]:
    """What a reader of the answer should know about what it leaves out."""
    found = []
    if made.selection is not None:
        least = made.selection.least
        shared = f"only keys that about {least:,} persons or more share are shown; declared domains show all"
        found.append(of_units(made, shared))
        if made.selection.decides is not None:
            found.append("the number that decided which keys are shown is the answer: it is no number below that")
    person = made.question.relation.person
    if person is not None:
        caps = caps_in_words(made)
        without = f"rows without a {person} are left out"
        found.append(without if caps is None else f"{caps}; {without}")
    bare = [name for name, formula in made.formulas if not formula.has_interval]
    if bare:
        found.append(f"no interval is claimed for {', '.join(f'`{name}`' for name in bare)}: the order of rows decides")
    return tuple(found)
