"""Sums of vectors as statements: rows in steps, vectors of units, shortened where too long, and a check."""

from __future__ import annotations

from typing import TYPE_CHECKING

from giveortake.engines.questions import MOST_OF_CELL
from giveortake.engines.sql.statements import LESS, equal, named, quantised, select_rows, told_apart
from giveortake.plan import Kind

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from giveortake.engines.questions import Component, Sample, VectorSum
    from giveortake.engines.sql.dialect import Dialect
    from giveortake.engines.sql.printer import Printer

_NARROW = 1 << 31
_MANY = 7  # components, from where rows of the same keys are added up before they are unfolded
SMALL = 1 << 20  # steps of a row, of which no table has enough rows to fill 64 bits
_EXACT = (1 << 53) // SMALL  # rows whose small steps doubles add up exactly, in any order


def vector_rows(printer: Printer, asked: VectorSum) -> str:
    """The rows that a sum of vectors is about: keys k0, k1 …, values v0, v1 … and the person p, if that is needed."""
    person: Callable[[Dialect, str, Kind], str] | None = None if asked.by_row else told_apart
    if asked.sample is not None and asked.relation.person is not None:
        person = named
    return select_rows(printer, asked.relation, asked.keys, [each.of for each in asked.values], person)


def vector_statement(
    printer: Printer, asked: VectorSum, dictionaries: Sequence[str], *, in_doubles: bool = False
) -> str:
    """One row (code, a0) for each cell that occurs; for dense vectors one row of all cells, a0, a1 and so on.

    `dictionaries` are tables (value, code) of the key columns' known values. With `in_doubles`, where `fits_doubles`,
    steps are held in doubles, which some engines multiply and add faster than integers. All that is computed of rows
    are whole numbers below 2⁵³ then, which doubles hold, so no order of rows changes them. Where there are too many
    rows for that, cells are missing; a person who has too many adds nothing, as one whose vector is too long.
    """
    rows = _steps(printer, asked, dictionaries, in_doubles=in_doubles)
    if asked.is_dense:
        return _dense(printer, asked, rows, in_doubles=in_doubles)
    return _cells_of_rows(printer, asked, rows) if asked.by_row else _cells_of_persons(printer, asked, rows)


def fits_doubles(asked: VectorSum) -> bool:
    """Whether vectors are dense, with steps so small that doubles add up billions of rows exactly."""
    return asked.is_dense and asked.sample is None and max(map(asked.reach, asked.components), default=0) <= SMALL


def steps_statement(printer: Printer, asked: VectorSum, dictionaries: Sequence[str] = ()) -> str:
    """Rows as steps q0, q1 … and codes of keys c0, c1 …, with the person p unless each row is cut for itself."""
    return _steps(printer, asked, dictionaries)


def _steps(printer: Printer, asked: VectorSum, dictionaries: Sequence[str], *, in_doubles: bool = False) -> str:
    """Values as steps q0, q1 …, 0 where one is missing, and the codes c0, c1 … of keys, NULL where one is unknown."""
    values = [f"{_in_steps(printer, asked, i, in_doubles=in_doubles)} AS q{i}" for i in range(len(asked.values))]
    counted = [_code_of_integer(asked, i) for i in range(len(dictionaries))]
    codes = [f"{code or f'd{i}.code'} AS c{i}" for i, code in enumerate(counted)]
    person = [] if asked.by_row else ["r.p AS p"]
    text = f"SELECT {', '.join([*person, *values, *codes]) or '1 AS one'} FROM ({vector_rows(printer, asked)}) AS r"
    for i, table in enumerate(dictionaries):
        if counted[i] is not None:
            continue
        nullable = None in (asked.columns[i].values or ())
        text += f" LEFT JOIN {table} AS d{i} ON {equal(printer, f'r.k{i}', f'd{i}.value', nullable)}"
    dialect = printer.dialect
    if asked.sample is None:
        return dialect.fence(text)
    if asked.relation.person is None:
        return _sampled_rows(dialect, asked, asked.sample, dialect.fence(text))
    return dialect.fence(f"{text} WHERE {_is_sampled(dialect, asked.sample, dialect.to_text('r.p'))}")


def _in_steps(printer: Printer, asked: VectorSum, place: int, *, in_doubles: bool) -> str:
    """A value as whole steps, 0 if it is missing: as `quantised` has it, by comparisons, at a quarter of the cost."""
    summand, dialect = asked.values[place], printer.dialect
    quantum = summand.quantum
    assert summand.of is not None and quantum is not None  # noqa: S101, PT018 (values have both)
    kind = summand.of.domain(asked.relation.schema).kind
    if quantum.is_whole or quantum.shift or quantum.reach >= _NARROW - 1:
        steps = f"coalesce({quantised(dialect, f'v{place}', kind, quantum)}, 0)"
        return dialect.real(steps) if in_doubles else steps
    real, low, high = dialect.real(f"v{place}"), dialect.double(quantum.low), dialect.double(quantum.high)
    steps = dialect.lattice(real, quantum.granularity)
    inside, most, least, none = f"{real} >= {low} AND {real} <= {high}", str(quantum.most), str(quantum.least), "0"
    if in_doubles:
        inside, none = f"{real} BETWEEN {low} AND {high}", dialect.double(0)
        most, least = dialect.double(quantum.most), dialect.double(quantum.least)
    else:
        steps = f"CAST({steps} AS INTEGER)"
    beyond = f"WHEN {real} > {high} THEN {most} WHEN {real} < {low} THEN {least}"
    return f"CASE WHEN {inside} THEN {steps} {beyond} ELSE {none} END"


def _code_of_integer(asked: VectorSum, place: int) -> str | None:
    """The code of a key whose values are consecutive integers, without a dictionary; None for other keys."""
    column = asked.columns[place]
    values = column.values or (None,)
    first = values[0]
    if column.expression.domain(asked.relation.schema).kind is not Kind.INTEGER or type(first) is not int:
        return None
    if values != tuple(range(first, first + len(values))):
        return None
    key = f"r.k{place}"
    place_of = f"CAST({key} AS BIGINT) - {first}"  # in 64 bits: the column may be of 8, in which it would overflow
    return f"CASE WHEN {key} BETWEEN {first} AND {first + len(values) - 1} THEN {place_of} END"


def _is_sampled(dialect: Dialect, sample: Sample, name: str) -> str:
    number = dialect.digest(f"{dialect.text(sample.salt)} || {name}")
    return f"{number} {'>=' if sample.others else '<'} {sample.below}"


def _sampled_rows(dialect: Dialect, asked: VectorSum, sample: Sample, rows: str) -> str:
    """Sample rows that are units: a row's name is what counts of it, and its number among equal rows."""
    parts = [f"q{i}" for i in range(len(asked.values))] + [f"c{i}" for i in range(len(asked.columns))] or ["one"]
    number = f"row_number() OVER (PARTITION BY {', '.join(parts)} ORDER BY {parts[0]}) AS number"
    numbered = dialect.fence(f"SELECT *, {number} FROM ({rows}) AS q")
    texts = [f"coalesce({dialect.to_text(part)}, '')" for part in [*parts, "number"]]
    name = " || ',' || ".join(texts)
    return dialect.fence(f"SELECT * FROM ({numbered}) AS q WHERE {_is_sampled(dialect, sample, name)}")


def _total(dialect: Dialect, steps: str, reach: int) -> str:
    """A sum over all rows."""
    return dialect.short_total(steps) if reach <= SMALL else dialect.total(steps, reach)


def _narrow_total(dialect: Dialect, asked: VectorSum, place: int) -> str:
    """A sum over the rows of a person, in 64 bits."""
    steps = _product(asked.components[place])
    return dialect.short_total(steps) if asked.reach(asked.components[place]) <= SMALL else dialect.narrow_total(steps)


def _product(component: Component) -> str:
    """What a row adds to a component: at most 2³¹ steps, in integers of 32 bits or more."""
    return " * ".join(f"q{place}" for place in component.factors) or "1"


# -- dense vectors ----------------------------------------------------------------------------------------------


def _dense(printer: Printer, asked: VectorSum, rows: str, *, in_doubles: bool) -> str:
    dialect, count = printer.dialect, len(asked.components)
    products = [_product(each) for each in asked.components]
    if asked.is_uncut:
        reaches = [asked.reach(each) for each in asked.components]
        return _summed(dialect, zip(products, reaches, strict=True), rows, in_doubles=in_doubles)
    if asked.by_row and asked.is_gram:
        return _gram(dialect, asked, rows, in_doubles=in_doubles)
    if asked.by_row:
        vectors = f"SELECT {_listed(products, '{}')} FROM ({rows}) AS q"
    elif in_doubles:
        sums = [f"sum({each})" for each in products]
        vectors = f"SELECT p, {_listed(sums, '{}')} FROM ({rows}) AS q GROUP BY p HAVING count(*) <= {_EXACT}"
    else:
        each = [_narrow_total(dialect, asked, i) for i in range(count)]
        vectors = f"SELECT p, {_listed(each, '{}')} FROM ({dialect.by_person(rows)}) AS q GROUP BY p"
    checked = _checked(dialect, asked, vectors, [])
    sums = [dialect.total(f"w{i}", asked.bound) for i in range(count)]
    return f"SELECT {_listed(sums, 'coalesce({}, 0)')} FROM ({checked}) AS u"


def _summed(dialect: Dialect, products: Iterable[tuple[str, int]], rows: str, *, in_doubles: bool) -> str:
    """Sums of products over rows that need no cut; each product comes with its greatest distance from zero."""
    if in_doubles:
        sums, form = (
            [f"sum({each})" for each, _ in products],
            f"CASE WHEN count(*) <= {_EXACT} THEN coalesce({{}}, 0) END",
        )
    else:
        sums, form = [_total(dialect, each, reach) for each, reach in products], "coalesce({}, 0)"
    return f"SELECT {_listed(sums, form)} FROM ({rows}) AS q"


def _checked(dialect: Dialect, asked: VectorSum, vectors: str, kept: list[str]) -> str:
    """Vectors a0, a1 … as w0, w1 …: shortened where they are too long, without those that are too long even then.

    The length is computed in doubles, by one expression for each vector; the check in integers of 64 bits.
    """
    places = range(len(asked.components))
    reals = [f"CAST(a{i} AS {dialect.type_name(Kind.REAL)})" for i in places]
    doubles = dialect.fence(f"SELECT {', '.join([*kept, _listed(reals, '{}', 'x')])} FROM ({vectors}) AS u")
    length = " + ".join(f"x{i} * x{i} * {each.weight}" for i, each in enumerate(asked.components))
    measured = dialect.fence(f"SELECT *, {length} AS n FROM ({doubles}) AS u")
    scaled = dialect.fence(f"SELECT *, {_factor(dialect, asked)} AS f FROM ({measured}) AS u")
    cut = [dialect.cut(f"x{i} * f", asked.bound) for i in places]
    shorter = dialect.fence(f"SELECT {', '.join([*kept, _listed(cut, '{}', 'w')])} FROM ({scaled}) AS u")
    check = " + ".join(f"w{i} * w{i} * {each.weight}" for i, each in enumerate(asked.components))
    return f"SELECT * FROM ({shorter}) AS u WHERE {check} <= {asked.bound**2}"


def _gram(dialect: Dialect, asked: VectorSum, rows: str, *, in_doubles: bool) -> str:
    """Sums over rows whose values are shortened first, so that their products are short enough."""
    places = range(len(asked.values))
    square = "{0} * {0}" if in_doubles else "CAST({0} AS BIGINT) * {0}"
    length = " + ".join(square.format(f"q{i}") for i in places)
    measured = dialect.fence(f"SELECT *, {length} AS n FROM ({rows}) AS q")
    ratio = f"sqrt({dialect.double(asked.bound)} / {dialect.real('n')}) * {dialect.double(LESS)}"
    scaled = dialect.fence(
        f"SELECT *, CASE WHEN n <= {asked.bound} THEN {dialect.double(1)} ELSE {ratio} END AS f FROM ({measured}) AS q"
    )
    shorter = dialect.fence(
        f"SELECT {_listed([_shorter(dialect, asked, f'q{i}', in_doubles=in_doubles) for i in places], '{}', 'w')} "
        f"FROM ({scaled}) AS q"
    )
    check = " + ".join(square.format(f"w{i}") for i in places)
    checked = f"SELECT * FROM ({shorter}) AS q WHERE {check} <= {asked.bound}"
    products = [(f"w{i} * w{j}", asked.bound) for i, j in (each.factors for each in asked.components)]
    return _summed(dialect, products, checked, in_doubles=in_doubles)


def _shorter(dialect: Dialect, asked: VectorSum, steps: str, *, in_doubles: bool) -> str:
    if in_doubles:
        return f"trunc({steps} * f)"
    cut = dialect.cut(f"{dialect.real(steps)} * f", asked.bound)
    return f"CAST({cut} AS {'INTEGER' if asked.bound < _NARROW else 'BIGINT'})"


# -- vectors with a cell for each key ---------------------------------------------------------------------------


def _cells_of_rows(printer: Printer, asked: VectorSum, rows: str) -> str:
    """Sums by cell where rows are units: each row is in at most one cell of each component."""
    dialect, count = printer.dialect, len(asked.components)
    products = [_product(each) for each in asked.components]
    if asked.is_uncut and count > _MANY and max(map(asked.reach, asked.components)) <= SMALL:
        rows, products = _together(dialect, asked, rows, products)
    there = [_if_known(each, product) for each, product in zip(asked.components, products, strict=True)]
    places = [f"{_cell(asked, i)} AS b{i}" for i in range(count)]
    vectors = dialect.fence(f"SELECT {_listed(there, '{}')}, {', '.join(places)} FROM ({rows}) AS q")
    if asked.is_uncut:
        return _by_cell(dialect, asked, vectors, [(f"b{i}", f"a{i}") for i in range(count)])
    checked = _checked(dialect, asked, vectors, [f"b{i}" for i in range(count)])
    return _by_cell(dialect, asked, checked, [(f"b{i}", f"w{i}") for i in range(count)])


def _together(dialect: Dialect, asked: VectorSum, rows: str, products: list[str]) -> tuple[str, list[str]]:
    """Add up rows of the same keys first, where each would be unfolded into many: integers, in any order."""
    sums = {product: f"s{place}" for place, product in enumerate(dict.fromkeys(products))}
    codes = ", ".join(f"c{place}" for place in range(len(asked.columns)))
    totals = ", ".join(f"{dialect.narrow_total(product)} AS {name}" for product, name in sums.items())
    grouped = dialect.fence(f"SELECT {codes}, {totals} FROM ({rows}) AS q GROUP BY {codes}")
    return grouped, [sums[product] for product in products]


def _by_cell(dialect: Dialect, asked: VectorSum, vectors: str, pairs: list[tuple[str, str]]) -> str:
    lines = dialect.unfolded(vectors, [], [(code, value) for code, value in pairs], ("code", "a"))
    total = dialect.total("a", max(asked.bound, 1))
    return f"SELECT code, {total} AS a0 FROM ({lines}) AS l WHERE code IS NOT NULL GROUP BY code"


def _cells_of_persons(printer: Printer, asked: VectorSum, rows: str) -> str:
    """Sums by person and cell, then each person's length, then the shortened sums, then a check."""
    dialect = printer.dialect
    parts = [(_cell(asked, i), _product(each)) for i, each in enumerate(asked.components)]
    lines = dialect.unfolded(dialect.by_person(rows), ["p"], parts, ("code", "a"))
    pairs = (
        f"SELECT p, code, {dialect.narrow_total('a')} AS a FROM ({lines}) AS l WHERE code IS NOT NULL GROUP BY p, code"
    )
    weight, most = _weight_of_code(asked), MOST_OF_CELL
    near = f"SELECT p, code, {dialect.between('coalesce(a, 0)', str(-most), str(most))} AS a FROM ({pairs}) AS t"
    measured = dialect.fence(dialect.with_sums(near, [(f"{weight} * {dialect.square('a')}", "n")]))
    scaled = dialect.fence(f"SELECT p, code, a, {_factor(dialect, asked)} AS f FROM ({measured}) AS t")
    real = dialect.real("a")
    shorter = f"SELECT p, code, {dialect.cut(f'{real} * f', asked.bound)} AS w FROM ({scaled}) AS t"
    checked = dialect.with_sums(shorter, [(f"{weight} * w * w", "m")])
    total = dialect.total("w", asked.bound)
    return f"SELECT code, {total} AS a0 FROM ({checked}) AS t WHERE m <= {asked.bound**2} GROUP BY code"


def _cell(asked: VectorSum, place: int) -> str:
    """The place of a row's cell among all, or NULL where a key is unknown."""
    code = "0"
    for key in asked.components[place].keys:
        size = len(asked.columns[key].values or ())
        code = f"(CAST({code} AS BIGINT) * {size} + c{key})"
    return f"CAST({asked.offsets()[place]} + {code} AS BIGINT)"


def _if_known(component: Component, product: str) -> str:
    known = " AND ".join(f"c{key} IS NOT NULL" for key in component.keys)
    return f"CASE WHEN {known} THEN {product} ELSE 0 END" if known else product


def _weight_of_code(asked: VectorSum) -> str:
    """The weight of a cell, by its place."""
    if len({each.weight for each in asked.components}) == 1:
        return str(asked.components[0].weight)
    ends = zip(asked.offsets(), asked.sizes, asked.components, strict=True)
    branches = " ".join(f"WHEN code < {start + size} THEN {each.weight}" for start, size, each in ends)
    return f"(CASE {branches} ELSE 1 END)"


# -- lengths ----------------------------------------------------------------------------------------------------


def _factor(dialect: Dialect, asked: VectorSum) -> str:
    """The factor for a vector of length √n: 1, or just less than what makes it as short as the bound."""
    length = dialect.real("n")
    short = f"{length} * {dialect.double(1 + 2.0**-40)} <= {dialect.double(asked.bound**2)}"
    return f"CASE WHEN {short} THEN {dialect.double(1)} ELSE {dialect.double(asked.bound * LESS)} / sqrt({length}) END"


def _listed(texts: Sequence[str], form: str, letter: str = "a") -> str:
    return ", ".join(f"{form.format(text)} AS {letter}{place}" for place, text in enumerate(texts))
