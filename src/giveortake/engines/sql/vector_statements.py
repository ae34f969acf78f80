"""Sums of vectors as statements: rows in steps, vectors of units, shortened where too long, and a check."""

from __future__ import annotations

from typing import TYPE_CHECKING

from giveortake.engines.questions import MOST_OF_CELL
from giveortake.engines.sql.statements import LESS, comparable, equal, named, quantised, select_rows
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


def vector_rows(printer: Printer, vector_sum: VectorSum) -> str:
    """The rows that a sum of vectors is about: keys k0, k1 …, values v0, v1 … and the person p, if that is needed."""
    person: Callable[[Dialect, str, Kind], str] | None = None if vector_sum.by_row else comparable
    if vector_sum.sample is not None and vector_sum.relation.person is not None:
        person = named
    return select_rows(
        printer, vector_sum.relation, vector_sum.keys, [summand.expression for summand in vector_sum.values], person
    )


def vector_statement(
    printer: Printer, vector_sum: VectorSum, dictionaries: Sequence[str], *, in_doubles: bool = False
) -> str:
    """One row (code, a0) for each cell that occurs; for dense vectors one row of all cells, a0, a1 and so on.

    `dictionaries` are tables (value, code) of the key columns' known values. With `in_doubles`, where `fits_doubles`,
    steps are held in doubles, which some engines multiply and add faster than integers. All that is computed of rows
    are whole numbers below 2⁵³ then, which doubles hold, so no order of rows changes them. Where there are too many
    rows for that, cells are missing; a person who has too many adds nothing, as one whose vector is too long.
    """
    rows = _steps(printer, vector_sum, dictionaries, in_doubles=in_doubles)
    if vector_sum.is_dense:
        return _dense(printer, vector_sum, rows, in_doubles=in_doubles)
    return (
        _cells_of_rows(printer, vector_sum, rows) if vector_sum.by_row else _cells_of_persons(printer, vector_sum, rows)
    )


def fits_doubles(vector_sum: VectorSum) -> bool:
    """Whether vectors are dense, with steps so small that doubles add up billions of rows exactly."""
    return (
        vector_sum.is_dense
        and vector_sum.sample is None
        and max(map(vector_sum.reach, vector_sum.components), default=0) <= SMALL
    )


def steps_statement(printer: Printer, vector_sum: VectorSum, dictionaries: Sequence[str] = ()) -> str:
    """Rows as steps q0, q1 … and codes of keys c0, c1 …, with the person p unless each row is cut for itself."""
    return _steps(printer, vector_sum, dictionaries)


def _steps(printer: Printer, vector_sum: VectorSum, dictionaries: Sequence[str], *, in_doubles: bool = False) -> str:
    """Values as steps q0, q1 …, 0 where one is missing, and the codes c0, c1 … of keys, NULL where one is unknown."""
    values = [
        f"{_in_steps(printer, vector_sum, i, in_doubles=in_doubles)} AS q{i}" for i in range(len(vector_sum.values))
    ]
    integer_codes = [_code_of_integer(vector_sum, i) for i in range(len(dictionaries))]
    codes = [f"{code or f'd{i}.code'} AS c{i}" for i, code in enumerate(integer_codes)]
    person = [] if vector_sum.by_row else ["r.p AS p"]
    text = (
        f"SELECT {', '.join([*person, *values, *codes]) or '1 AS one'} FROM ({vector_rows(printer, vector_sum)}) AS r"
    )
    for i, table in enumerate(dictionaries):
        if integer_codes[i] is not None:
            continue
        nullable = None in (vector_sum.columns[i].values or ())
        text += f" LEFT JOIN {table} AS d{i} ON {equal(printer, f'r.k{i}', f'd{i}.value', nullable)}"
    dialect = printer.dialect
    if vector_sum.sample is None:
        return dialect.fence(text)
    if vector_sum.relation.person is None:
        return _sampled_rows(dialect, vector_sum, vector_sum.sample, dialect.fence(text))
    return dialect.fence(f"{text} WHERE {_is_sampled(dialect, vector_sum.sample, dialect.to_text('r.p'))}")


def _in_steps(printer: Printer, vector_sum: VectorSum, value_index: int, *, in_doubles: bool) -> str:
    """A value as whole steps, 0 if it is missing: as `quantised` has it, by comparisons, at a quarter of the cost."""
    summand, dialect = vector_sum.values[value_index], printer.dialect
    quantum = summand.quantum
    assert summand.expression is not None and quantum is not None  # noqa: S101, PT018 (values have both)
    kind = summand.expression.domain(vector_sum.relation.schema).kind
    if quantum.is_whole or quantum.shift or quantum.reach >= _NARROW - 1:
        steps = f"coalesce({quantised(dialect, f'v{value_index}', kind, quantum)}, 0)"
        return dialect.real(steps) if in_doubles else steps
    real, low, high = dialect.real(f"v{value_index}"), dialect.double(quantum.low), dialect.double(quantum.high)
    steps = dialect.lattice(real, quantum.granularity)
    inside, most, least, none = f"{real} >= {low} AND {real} <= {high}", str(quantum.most), str(quantum.least), "0"
    if in_doubles:
        inside, none = f"{real} BETWEEN {low} AND {high}", dialect.double(0)
        most, least = dialect.double(quantum.most), dialect.double(quantum.least)
    else:
        steps = f"CAST({steps} AS INTEGER)"
    beyond = f"WHEN {real} > {high} THEN {most} WHEN {real} < {low} THEN {least}"
    return f"CASE WHEN {inside} THEN {steps} {beyond} ELSE {none} END"


def _code_of_integer(vector_sum: VectorSum, column_index: int) -> str | None:
    """The code of a key whose values are consecutive integers, without a dictionary; None for other keys."""
    column = vector_sum.columns[column_index]
    values = column.values or (None,)
    first = values[0]
    if column.expression.domain(vector_sum.relation.schema).kind is not Kind.INTEGER or type(first) is not int:
        return None
    if values != tuple(range(first, first + len(values))):
        return None
    key = f"r.k{column_index}"
    code = f"CAST({key} AS BIGINT) - {first}"  # in 64 bits: the column may be of 8, in which it would overflow
    return f"CASE WHEN {key} BETWEEN {first} AND {first + len(values) - 1} THEN {code} END"


def _is_sampled(dialect: Dialect, sample: Sample, name: str) -> str:
    number = dialect.digest(f"{dialect.text(sample.salt)} || {name}")
    return f"{number} {'>=' if sample.others else '<'} {sample.below}"


def _sampled_rows(dialect: Dialect, vector_sum: VectorSum, sample: Sample, rows: str) -> str:
    """Sample rows that are units: a row's name is what counts of it, and its number among equal rows."""
    parts = [f"q{i}" for i in range(len(vector_sum.values))] + [f"c{i}" for i in range(len(vector_sum.columns))] or [
        "one"
    ]
    number = f"row_number() OVER (PARTITION BY {', '.join(parts)} ORDER BY {parts[0]}) AS number"
    numbered = dialect.fence(f"SELECT *, {number} FROM ({rows}) AS q")
    texts = [f"coalesce({dialect.to_text(part)}, '')" for part in [*parts, "number"]]
    name = " || ',' || ".join(texts)
    return dialect.fence(f"SELECT * FROM ({numbered}) AS q WHERE {_is_sampled(dialect, sample, name)}")


def _total(dialect: Dialect, steps: str, reach: int) -> str:
    """A sum over all rows."""
    return dialect.short_total(steps) if reach <= SMALL else dialect.total(steps, reach)


def _narrow_total(dialect: Dialect, vector_sum: VectorSum, component_index: int) -> str:
    """A sum over the rows of a person, in 64 bits."""
    steps = _product(vector_sum.components[component_index])
    return (
        dialect.short_total(steps)
        if vector_sum.reach(vector_sum.components[component_index]) <= SMALL
        else dialect.narrow_total(steps)
    )


def _product(component: Component) -> str:
    """What a row adds to a component: at most 2³¹ steps, in integers of 32 bits or more."""
    return " * ".join(f"q{factor}" for factor in component.factors) or "1"


# -- dense vectors ----------------------------------------------------------------------------------------------


def _dense(printer: Printer, vector_sum: VectorSum, rows: str, *, in_doubles: bool) -> str:
    dialect, count = printer.dialect, len(vector_sum.components)
    products = [_product(component) for component in vector_sum.components]
    if vector_sum.is_uncut:
        reaches = [vector_sum.reach(component) for component in vector_sum.components]
        return _summed(dialect, zip(products, reaches, strict=True), rows, in_doubles=in_doubles)
    if vector_sum.by_row and vector_sum.is_gram:
        return _gram(dialect, vector_sum, rows, in_doubles=in_doubles)
    if vector_sum.by_row:
        vectors = f"SELECT {_listed(products, '{}')} FROM ({rows}) AS q"
    elif in_doubles:
        sums = [f"sum({product})" for product in products]
        vectors = f"SELECT p, {_listed(sums, '{}')} FROM ({rows}) AS q GROUP BY p HAVING count(*) <= {_EXACT}"
    else:
        sums = [_narrow_total(dialect, vector_sum, i) for i in range(count)]
        vectors = f"SELECT p, {_listed(sums, '{}')} FROM ({dialect.by_person(rows)}) AS q GROUP BY p"
    checked = _checked(dialect, vector_sum, vectors, [])
    sums = [dialect.total(f"w{i}", vector_sum.bound) for i in range(count)]
    return f"SELECT {_listed(sums, 'coalesce({}, 0)')} FROM ({checked}) AS u"


def _summed(dialect: Dialect, products: Iterable[tuple[str, int]], rows: str, *, in_doubles: bool) -> str:
    """Sums of products over rows that need no cut; each product comes with its greatest distance from zero."""
    if in_doubles:
        sums, form = (
            [f"sum({product})" for product, _ in products],
            f"CASE WHEN count(*) <= {_EXACT} THEN coalesce({{}}, 0) END",
        )
    else:
        sums, form = [_total(dialect, product, reach) for product, reach in products], "coalesce({}, 0)"
    return f"SELECT {_listed(sums, form)} FROM ({rows}) AS q"


def _checked(dialect: Dialect, vector_sum: VectorSum, vectors: str, cell_columns: list[str]) -> str:
    """Vectors a0, a1 … as w0, w1 …: shortened where they are too long, without those that are too long even then.

    The length is computed in doubles, by one expression for each vector; the check in integers of 64 bits.
    """
    indexes = range(len(vector_sum.components))
    reals = [f"CAST(a{i} AS {dialect.type_name(Kind.REAL)})" for i in indexes]
    doubles = dialect.fence(f"SELECT {', '.join([*cell_columns, _listed(reals, '{}', 'x')])} FROM ({vectors}) AS u")
    length = " + ".join(f"x{i} * x{i} * {component.weight}" for i, component in enumerate(vector_sum.components))
    measured = dialect.fence(f"SELECT *, {length} AS n FROM ({doubles}) AS u")
    scaled = dialect.fence(f"SELECT *, {_factor(dialect, vector_sum)} AS f FROM ({measured}) AS u")
    cut = [dialect.cut(f"x{i} * f", vector_sum.bound) for i in indexes]
    shorter = dialect.fence(f"SELECT {', '.join([*cell_columns, _listed(cut, '{}', 'w')])} FROM ({scaled}) AS u")
    check = " + ".join(f"w{i} * w{i} * {component.weight}" for i, component in enumerate(vector_sum.components))
    return f"SELECT * FROM ({shorter}) AS u WHERE {check} <= {vector_sum.bound**2}"


def _gram(dialect: Dialect, vector_sum: VectorSum, rows: str, *, in_doubles: bool) -> str:
    """Sums over rows whose values are shortened first, so that their products are short enough."""
    indexes = range(len(vector_sum.values))
    square = "{0} * {0}" if in_doubles else "CAST({0} AS BIGINT) * {0}"
    length = " + ".join(square.format(f"q{i}") for i in indexes)
    measured = dialect.fence(f"SELECT *, {length} AS n FROM ({rows}) AS q")
    ratio = f"sqrt({dialect.double(vector_sum.bound)} / {dialect.real('n')}) * {dialect.double(LESS)}"
    scaled = dialect.fence(
        f"SELECT *, CASE WHEN n <= {vector_sum.bound} THEN {dialect.double(1)} ELSE {ratio} END AS f "
        f"FROM ({measured}) AS q"
    )
    steps = [_shorter(dialect, vector_sum, f"q{i}", in_doubles=in_doubles) for i in indexes]
    shorter = dialect.fence(f"SELECT {_listed(steps, '{}', 'w')} FROM ({scaled}) AS q")
    check = " + ".join(square.format(f"w{i}") for i in indexes)
    checked = f"SELECT * FROM ({shorter}) AS q WHERE {check} <= {vector_sum.bound}"
    products = [
        (f"w{i} * w{j}", vector_sum.bound) for i, j in (component.factors for component in vector_sum.components)
    ]
    return _summed(dialect, products, checked, in_doubles=in_doubles)


def _shorter(dialect: Dialect, vector_sum: VectorSum, steps: str, *, in_doubles: bool) -> str:
    if in_doubles:
        return f"trunc({steps} * f)"
    cut = dialect.cut(f"{dialect.real(steps)} * f", vector_sum.bound)
    return f"CAST({cut} AS {'INTEGER' if vector_sum.bound < _NARROW else 'BIGINT'})"


# -- vectors with a cell for each key ---------------------------------------------------------------------------


def _cells_of_rows(printer: Printer, vector_sum: VectorSum, rows: str) -> str:
    """Sums by cell where rows are units: each row is in at most one cell of each component."""
    dialect, count = printer.dialect, len(vector_sum.components)
    products = [_product(component) for component in vector_sum.components]
    if vector_sum.is_uncut and count > _MANY and max(map(vector_sum.reach, vector_sum.components)) <= SMALL:
        rows, products = _together(dialect, vector_sum, rows, products)
    known_products = [
        _if_known(component, product) for component, product in zip(vector_sum.components, products, strict=True)
    ]
    cell_codes = [f"{_cell(vector_sum, i)} AS b{i}" for i in range(count)]
    vectors = dialect.fence(f"SELECT {_listed(known_products, '{}')}, {', '.join(cell_codes)} FROM ({rows}) AS q")
    if vector_sum.is_uncut:
        return _by_cell(dialect, vector_sum, vectors, [(f"b{i}", f"a{i}") for i in range(count)])
    checked = _checked(dialect, vector_sum, vectors, [f"b{i}" for i in range(count)])
    return _by_cell(dialect, vector_sum, checked, [(f"b{i}", f"w{i}") for i in range(count)])


def _together(dialect: Dialect, vector_sum: VectorSum, rows: str, products: list[str]) -> tuple[str, list[str]]:
    """Add up rows of the same keys first, where each would be unfolded into many: integers, in any order."""
    sums = {product: f"s{index}" for index, product in enumerate(dict.fromkeys(products))}
    codes = ", ".join(f"c{index}" for index in range(len(vector_sum.columns)))
    totals = ", ".join(f"{dialect.narrow_total(product)} AS {name}" for product, name in sums.items())
    grouped = dialect.fence(f"SELECT {codes}, {totals} FROM ({rows}) AS q GROUP BY {codes}")
    return grouped, [sums[product] for product in products]


def _by_cell(dialect: Dialect, vector_sum: VectorSum, vectors: str, pairs: list[tuple[str, str]]) -> str:
    lines = dialect.unfolded(vectors, [], [(code, value) for code, value in pairs], ("code", "a"))
    total = dialect.total("a", max(vector_sum.bound, 1))
    return f"SELECT code, {total} AS a0 FROM ({lines}) AS l WHERE code IS NOT NULL GROUP BY code"


def _cells_of_persons(printer: Printer, vector_sum: VectorSum, rows: str) -> str:
    """Sums by person and cell, then each person's length, then the shortened sums, then a check."""
    dialect = printer.dialect
    parts = [(_cell(vector_sum, i), _product(component)) for i, component in enumerate(vector_sum.components)]
    lines = dialect.unfolded(dialect.by_person(rows), ["p"], parts, ("code", "a"))
    pairs = (
        f"SELECT p, code, {dialect.narrow_total('a')} AS a FROM ({lines}) AS l WHERE code IS NOT NULL GROUP BY p, code"
    )
    weight, most = _weight_of_code(vector_sum), MOST_OF_CELL
    near = f"SELECT p, code, {dialect.between('coalesce(a, 0)', str(-most), str(most))} AS a FROM ({pairs}) AS t"
    measured = dialect.fence(dialect.with_sums(near, [(f"{weight} * {dialect.square('a')}", "n")]))
    scaled = dialect.fence(f"SELECT p, code, a, {_factor(dialect, vector_sum)} AS f FROM ({measured}) AS t")
    real = dialect.real("a")
    shorter = f"SELECT p, code, {dialect.cut(f'{real} * f', vector_sum.bound)} AS w FROM ({scaled}) AS t"
    checked = dialect.with_sums(shorter, [(f"{weight} * w * w", "m")])
    total = dialect.total("w", vector_sum.bound)
    return f"SELECT code, {total} AS a0 FROM ({checked}) AS t WHERE m <= {vector_sum.bound**2} GROUP BY code"


def _cell(vector_sum: VectorSum, component_index: int) -> str:
    """The place of a row's cell among all, or NULL where a key is unknown."""
    code = "0"
    for key in vector_sum.components[component_index].keys:
        size = len(vector_sum.columns[key].values or ())
        code = f"(CAST({code} AS BIGINT) * {size} + c{key})"
    return f"CAST({vector_sum.offsets()[component_index]} + {code} AS BIGINT)"


def _if_known(component: Component, product: str) -> str:
    known = " AND ".join(f"c{key} IS NOT NULL" for key in component.keys)
    return f"CASE WHEN {known} THEN {product} ELSE 0 END" if known else product


def _weight_of_code(vector_sum: VectorSum) -> str:
    """The weight of a cell, by its place."""
    if len({component.weight for component in vector_sum.components}) == 1:
        return str(vector_sum.components[0].weight)
    ends = zip(vector_sum.offsets(), vector_sum.sizes, vector_sum.components, strict=True)
    branches = " ".join(f"WHEN code < {start + size} THEN {component.weight}" for start, size, component in ends)
    return f"(CASE {branches} ELSE 1 END)"


# -- lengths ----------------------------------------------------------------------------------------------------


def _factor(dialect: Dialect, vector_sum: VectorSum) -> str:
    """The factor for a vector of length √n: 1, or just less than what makes it as short as the bound."""
    length = dialect.real("n")
    short = f"{length} * {dialect.double(1 + 2.0**-40)} <= {dialect.double(vector_sum.bound**2)}"
    return (
        f"CASE WHEN {short} THEN {dialect.double(1)} "
        f"ELSE {dialect.double(vector_sum.bound * LESS)} / sqrt({length}) END"
    )


def _listed(texts: Sequence[str], form: str, letter: str = "a") -> str:
    return ", ".join(f"{form.format(text)} AS {letter}{index}" for index, text in enumerate(texts))
