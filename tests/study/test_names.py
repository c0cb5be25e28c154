"""Names of models: which are refused, and that none is ever a path."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from refti.study.names import folder_name, name_fault, seed_of

HOSTILE = [
    "../../x",
    "/etc/passwd",
    "..",
    ".",
    "a/b",
    'a"b<script>',
    "con",
    "a\\b",
    "-rf",
    "~",
    "%2e",
]


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_names_are_names_and_no_paths(name: str):
    assert name_fault(name) is None
    folder = folder_name(name)
    assert "/" not in folder
    assert "\\" not in folder
    assert not folder.startswith((".", "-"))
    assert folder.isascii()


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("", "empty"),
        ("x" * 300, "got 300"),
        ("a\x1b[31mb", "cannot be printed"),
        ("a\nb", "cannot be printed"),
        ("a\0b", "cannot be printed"),
        ("a\u202eb", "cannot be printed"),
        (" a", "begins or ends"),
    ],
)
def test_names_that_are_refused(name: str, words: str):
    fault = name_fault(name)
    assert fault is not None
    assert words in fault
    assert fault.isprintable()


@given(st.text(max_size=300), st.text(max_size=300))
def test_different_names_have_different_folders_and_seeds(one: str, other: str):
    for name in (one, other):
        folder = folder_name(name)
        assert 0 < len(folder) <= 60
        assert folder not in (".", "..")
        assert all(letter.isascii() and (letter.isalnum() or letter in "_.+-") for letter in folder)
        assert 0 <= seed_of(3, name) < 2**63
    if one != other:
        assert folder_name(one).casefold() != folder_name(other).casefold()
        assert seed_of(3, one) != seed_of(3, other)
    assert seed_of(3, one) != seed_of(4, one)
