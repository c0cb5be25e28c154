"""The power of the search: that which is measured is that which is stated."""

from __future__ import annotations

import numpy as np
import pytest

from refti.calibrate import search_power
from refti.calibrate.coverage import wilson
from refti.calibrate.search_power import PowerRow


def row(found: int, stated: float, seeds: int = 100) -> PowerRow:
    return PowerRow(5, 0.7, 0.01, 96, stated, seeds, wilson(found, seeds))


def test_rows_hold_unless_fewer_are_found_than_chance_allows():
    assert row(60, 0.62).holds
    assert row(48, 0.62).holds
    assert not row(40, 0.62).holds
    assert row(100, 0.62).holds  # more than was said is no fault
    assert not row(99, 1.0).holds
    assert search_power.passes([row(60, 0.62), row(62, 0.62)])
    assert not search_power.passes([row(60, 0.62), row(40, 0.62)])
    words = search_power.text([row(40, 0.62), row(60, 0.62)]).splitlines()
    assert words[0].startswith(
        "In 1 of 2 mixtures the second mode was found less often than stated"
    )
    assert [line.endswith("below") for line in words[-2:]] == [True, False]


@pytest.mark.parametrize("dim", [1, 2])
def test_the_share_of_a_mode_is_counted_where_it_is_the_larger(dim: int):
    # Of the same width it is larger beyond the middle between them.
    points = np.zeros((1000, dim))
    direction = search_power._direction(dim)
    points += np.linspace(0, 15, 1000)[:, None] * direction
    assert search_power._share_of(points, 1.0) == pytest.approx(0.5, abs=0.002)
    assert search_power._share_of(points, 0.3) < 0.4


@pytest.mark.parametrize("seeds", [8, pytest.param(40, marks=pytest.mark.long)])
def test_the_search_finds_what_it_says(seeds: int):
    # A search of half the power, 0.16 for 0.25 in the hardest, is not told from chance in one row
    # of 40 seeds, so the rows are taken together.
    rows = search_power.power(seeds, quick=True)
    assert [(one.dim, round(one.share, 4)) for one in rows] == [
        (dim, share) for dim in search_power.QUICK_DIMS for share in search_power.QUICK_SHARES
    ]
    assert search_power.passes(rows)
    found = sum(one.found.value * one.seeds for one in rows)
    expected = sum(one.stated * one.seeds for one in rows)
    spread = np.sqrt(sum(one.stated * (1 - one.stated) * one.seeds for one in rows))
    assert abs(found - expected) < 4 * spread
