"""Evidences of different data are not ranked, unless the user says so."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import pytest

from refti.errors import CompareError
from refti.results.compare import compare
from refti.results.of_data import DataMark, are_different, data_of, group_by_data


@dataclass(frozen=True)
class Result:
    log_z: float = 0.0
    error: float = 0.1
    trusted: bool = True
    settings: dict[str, Any] = field(default_factory=dict)
    found: dict[str, Any] = field(default_factory=dict)


def of(name: str | None = None, sha256: str | None = None) -> Result:
    origin = None if sha256 is None else {"data_sha256": sha256}
    return Result(settings={"data_name": name}, found={"origin": origin})


def test_a_result_knows_its_data():
    assert data_of(of("rain", "ab")) == DataMark("rain", "ab")
    assert data_of(of()) == data_of(object()) == DataMark()
    # A path between two models has an origin for each.
    assert data_of(Result(found={"origin": [{"data_sha256": "ab"}]})) == DataMark()


@pytest.mark.parametrize(
    ("first", "second", "different"),
    [
        (of("rain"), of("rain"), False),
        (of("rain"), of("snow"), True),
        (of(None, "ab"), of(None, "ab"), False),
        (of(None, "ab"), of(None, "cd"), True),
        # The user knows best: one model needs a column that the other does not.
        (of("rain", "ab"), of("rain", "cd"), False),
        (of("rain", "ab"), of("snow", "ab"), True),
        (of("rain", "ab"), of(None, "cd"), True),
        (of("rain", "ab"), of(None, "ab"), False),
        # Nothing is known that could differ.
        (of("rain"), of(None, "ab"), False),
        (of(), of("rain"), False),
        (of(), of(), False),
    ],
)
def test_what_is_refused(first: Result, second: Result, different: bool):
    assert are_different(data_of(first), data_of(second)) is different
    for results in ({"a": first, "b": second}, {"b": second, "a": first}):
        if different:
            with pytest.raises(CompareError, match=r"different_data=True"):
                compare(results)
        else:
            compare(results)
        assert len(compare(results, different_data=True).rows) == 2
        assert len(group_by_data(results)) == (2 if different else 1)


def test_names_in_the_message_are_safe_to_print():
    with pytest.raises(CompareError) as told:
        compare({"a\x1b[31m": of("x\x1b[2J"), "b": of("y")})
    assert str(told.value).isprintable()


def test_groups_keep_the_order():
    results = {"a": of("x"), "b": of("y"), "c": of("x"), "d": of("y")}
    assert [list(group) for group in group_by_data(results)] == [["a", "c"], ["b", "d"]]
