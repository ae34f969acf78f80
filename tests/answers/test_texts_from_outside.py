"""Keys and names come from data: they neither steer a terminal, nor turn a line round, nor run in a spreadsheet."""

from __future__ import annotations

import csv
import io
from datetime import date
from decimal import Decimal

from rich.console import Console

from cases import all_cases
from giveortake.answers import Answer, Column
from giveortake.answers.render import printable

EVIL = {
    "clears the screen": "red\x1b[2J",
    "an eight-bit escape": "red\x9b2J",
    "goes back": "blue\rred",
    "a bell": "red\x07",
    "a null": "red\0",
    "turns round": "abc\u202egpj.exe",
    "isolates": "\u2067admin\u2069",
    "a mark of direction": "red\u200f",
    "hides": "re\u200bd",
    "a line of its own": "red\nblue",
    "a paragraph": "red\u2029blue",
    "half a character": "red\ud800",
}
PLAIN = ["red", "", "naïve café", "日本語", "‹‹—››", "شهر", "می\u200cخواهم", "👩\u200d🔬", "a\\b", "non\u00a0breaking"]


def answer_with(text: str) -> Answer:
    return Answer([Column("key", [text]), Column(f"n of {text}", [3], low=[1], high=[5])])


@all_cases("text", EVIL.values(), ids=EVIL)
def test_a_terminal_and_repr_show_what_is_hidden_in_a_key(text: str) -> None:
    out = io.StringIO()
    terminal = Console(file=out, width=200, force_terminal=True, color_system=None)
    if "\ud800" not in text:  # no stream writes half a character
        terminal.print(answer_with(text))
    for face in (repr(answer_with(text)), out.getvalue(), answer_with(text)._repr_html_()):
        assert not any(letter in face for letter in text if not letter.isprintable() and letter != "\n")
    assert len(repr(answer_with(text)).splitlines()) == 3
    assert printable(text).startswith(("red", "blue", "abc", "\\u2067", "re\\u"))
    assert "\\" in printable(text)


@all_cases("text", PLAIN)
def test_letters_of_every_language_are_shown_as_they_are(text: str) -> None:
    assert printable(text) == text


@all_cases("text", EVIL.values(), ids=EVIL)
def test_values_stay_what_they_are(text: str) -> None:
    assert answer_with(text)["key"][0] == text
    assert answer_with(text).rows()[0]["key"] == text


@all_cases(
    "text",
    [
        "=1+1",
        "+1",
        "-1",
        "@SUM(A1)",
        "\t1",
        "\r=1",
        "\n=1",
        "=cmd|' /C calc'!A0",
        "＝1",
        "＋1",
        "－1",
        "＠1",
        " =1",
        "\u00a0=1",
        "\ufeff@x",
        "\u200b+1",
    ],
)
def test_no_cell_of_a_csv_file_is_a_formula(text: str) -> None:
    written = Answer([Column(text, [text, "fine"]), Column("n", [-3, 4])]).to_csv()
    rows = list(csv.reader(io.StringIO(written, newline="")))
    assert rows == [[f"'{text}", "n"], [f"'{text}", "-3"], ["fine", "4"]]


@all_cases("separator", [";", "\t"])
def test_no_cell_is_a_formula_to_whoever_separates_cells_otherwise(separator: str) -> None:
    text = f"x{separator}=1+cmd|' /C calc'!A0{separator}@y"
    written = Answer([Column(text, [text]), Column("n", [1])]).to_csv() or ""
    cells = [cell for row in csv.reader(io.StringIO(written, newline=""), delimiter=separator) for cell in row]
    assert len(cells) == 6
    assert not any(cell.startswith(("=", "@")) for cell in cells)


@all_cases("end", ["\r", "\n", "\r\n"])
def test_no_end_of_a_line_inside_a_key_begins_a_row(end: str) -> None:
    text = f"red{end}=1+1"
    written = Answer([Column("key", [text]), Column("n", [1])]).to_csv()
    assert written == f'key,n\n"{text}",1\n'
    assert list(csv.reader(io.StringIO(written, newline=""))) == [["key", "n"], [text, "1"]]


def test_numbers_dates_and_missing_values_of_a_csv_file_stay_as_they_are() -> None:
    columns = [
        Column("n", [-3, None]),
        Column("x", [-0.5, 1e-9]),
        Column("d", [Decimal("-1.50"), Decimal(2)]),
        Column("day", [date(2026, 1, 2), None]),
        Column("is", [True, False]),
    ]
    assert Answer(columns).to_csv() == "n,x,d,day,is\n-3,-0.5,-1.50,2026-01-02,True\n,1e-09,2,,False\n"


def test_other_formats_hold_every_text_as_it_is() -> None:
    assert '"=1+1"' in Answer([Column("key", ["=1+1"])]).to_json()
    assert Answer([Column("key", ["=1+1"])]).to_polars()["key"].to_list() == ["=1+1"]
