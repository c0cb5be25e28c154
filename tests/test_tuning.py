"""The numbers of every stage: frozen, each with its reason, and all of them on one page."""

from __future__ import annotations

from dataclasses import FrozenInstanceError, fields, replace
from typing import Any

import pytest
from benchmarks import tuning_page

TUNINGS = dict(tuning_page.tunings())


@pytest.mark.parametrize("stage", TUNINGS)
def test_every_number_has_its_reason_and_cannot_be_changed(stage: str):
    tuning = TUNINGS[stage]
    assert fields(tuning)
    for name, value, why in tuning_page.rows(tuning):
        assert len(why.split()) >= 2, f"{stage}: {name} has no reason"
        with pytest.raises(FrozenInstanceError):
            setattr(tuning, name, value)


def test_the_page_is_up_to_date():
    written = tuning_page.PAGE.read_text(encoding="utf-8")
    assert written == tuning_page.page(), "Say python -m benchmarks.tuning_page"


def test_another_number_is_another_page(monkeypatch: pytest.MonkeyPatch):
    stage, tuning = next(iter(TUNINGS.items()))
    name, value, _ = next(row for row in tuning_page.rows(tuning) if isinstance(row[1], int))
    before = tuning_page.page()

    def others() -> list[tuple[str, Any]]:
        return [(stage, replace(tuning, **{name: value + 1}))]

    monkeypatch.setattr(tuning_page, "tunings", others)
    assert f"| `{name}` | {value + 1:,} |" in tuning_page.page()
    assert f"| `{name}` | {value + 1:,} |" not in before
