"""Looks that were cut short: the result is there, and not trusted."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import jax.numpy as jnp
import numpy as np
import pytest

import refti
from refti.interruption import ask_to_end
from refti.run import last_looks, unreached_mass
from refti.sampling.metering import OutOfBudgetError


def model() -> refti.Model:
    return refti.Model(lambda x: -jnp.sum(jnp.cosh(x - jnp.array([0.3, -1.0]))) + 0.7, dim=2)


SETTINGS: dict[str, Any] = {"seed": 3, "target_error": 0.05, "search": 500, "progress": False}


@cache
def undisturbed() -> refti.Evidence:
    return refti.evidence(model(), **SETTINGS)


def failed(result: refti.Evidence) -> dict[str, str]:
    return {check.name: check.advice for check in result.checks if not check.ok}


LOOKS = [
    (unreached_mass, "find_unreached", "beyond the peaks"),
    (last_looks, "find_missing_tail", "missing tail"),
]


def disturb(monkeypatch: pytest.MonkeyPatch, module: object, name: str) -> None:
    """Somebody loses patience just as a look begins, the user at the keys or another thread."""
    look = getattr(module, name)

    def disturbed(*arguments: Any, **named: Any) -> Any:
        if module is last_looks:
            raise KeyboardInterrupt
        ask_to_end()
        return look(*arguments, **named)

    monkeypatch.setattr(module, name, disturbed)


def test_the_looks_are_made_where_nothing_disturbs():
    assert undisturbed().trusted, undisturbed().reasons
    names = [check.name for check in undisturbed().checks]
    assert {"beyond the peaks", "missing tail"} <= set(names)


@pytest.mark.parametrize(("module", "name", "check"), LOOKS, ids=[look[2] for look in LOOKS])
def test_an_interrupted_look_is_one_that_failed(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, module: object, name: str, check: str
):
    with monkeypatch.context() as for_now:
        disturb(for_now, module, name)
        found = refti.evidence(model(), **SETTINGS, store=tmp_path / "run")
    assert set(failed(found)) == {"finished", check}
    assert "cut short" in failed(found)[check]
    assert found.found["ended"] == "interrupted"
    assert found.value == undisturbed().value
    # Taken up again it comes to the same bits, with all looks.
    again = refti.evidence(model(), **SETTINGS, store=tmp_path / "run")
    assert again.trusted
    assert (again.value, again.error) == (undisturbed().value, undisturbed().error)
    assert again.checks == undisturbed().checks
    np.testing.assert_array_equal(again.draws[0].delta, undisturbed().draws[0].delta)


@pytest.mark.parametrize(("module", "name", "check"), LOOKS, ids=[look[2] for look in LOOKS])
def test_a_budget_that_ends_in_a_look_leaves_no_trust(
    monkeypatch: pytest.MonkeyPatch, module: object, name: str, check: str
):
    def spent(*arguments: Any, **named: Any) -> Any:
        raise OutOfBudgetError  # as the meter does before a call

    monkeypatch.setattr(module, name, spent)
    found = refti.evidence(model(), **SETTINGS)
    assert found.value == undisturbed().value
    assert set(failed(found)) == {"finished", check}
    assert "cut short" in failed(found)[check]
    assert "raise max_evaluations=" in failed(found)[check]
    assert found.found["ended"] == "out of budget"
