"""Numbers with their errors, names and tables in plain text."""

from __future__ import annotations

from math import inf, nan

import pytest

from refti.results.text import plus_minus, printable, table, wrapped


@pytest.mark.parametrize(
    ("value", "error", "text"),
    [
        (-310.12828, 0.0021, "-310.1283 ± 0.0021"),
        (1.0, 0.0997, "1.00 ± 0.10"),
        (12345.6, 123.0, "12346 ± 120"),
        (2.0, 0.0, "2 ± 0"),
        (2.0, inf, "2.0000 ± inf"),
        (nan, nan, "nan ± nan"),
        (1.0, 3e-12, "1.00000000 ± 3.0e-12"),
        (4e-9, 3e-12, "4.0e-09 ± 3.0e-12"),
    ],
)
def test_errors_have_two_digits(value: float, error: float, text: str):
    assert plus_minus(value, error) == text


def test_so_many_decimals():
    assert plus_minus(-1.23456, 0.00123, decimals=3) == "-1.235 ± 0.001"


def test_names_cannot_break_a_table():
    assert printable("a\nb\x1b[31mc") == "a?b?[31mc"


def test_a_number_is_not_parted_from_its_error_or_unit():
    text = "at least 0.19 % of it, log z 10.372 ± 0.012 in 22 s, so it stands"
    for width in range(20, 40):
        lines = wrapped(text, width)
        assert " ".join(lines) == text
        assert not any(line.startswith(("%", "±", "0.012", "s,")) for line in lines)


def test_numbers_are_flush_to_the_right_and_words_to_the_left():
    assert table(
        ["model", "log z", "trusted"],
        [("a", "-1.5", "yes"), ("longer", "-10.25", "NO")],
        words=(0, 2),
    ) == [
        "model    log z  trusted",
        "-----------------------",
        "a         -1.5  yes",
        "longer  -10.25  NO",
    ]
