"""Programs of the models used last are kept, and those of the others given back."""

import gc
import importlib
import pkgutil
from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import refti
from refti.models import compiled
from refti.models.batching import log_densities

KEPT = 2
X = np.zeros((1, 2))


@pytest.fixture(autouse=True)
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compiled, "TUNING", replace(compiled.TUNING, kept_programs=KEPT))


def model(power: int, shift: float = 0.0) -> refti.Model:
    data = np.array([shift, 0.0])
    return refti.Model(lambda x: -jnp.sum((x - data) ** (2 * power)), dim=2)


def programs_in_memory() -> int:
    gc.collect()
    live = jax.devices()[0].client.live_executables()
    return sum(one.hlo_modules()[0].name == "jit_log_densities" for one in live)


def test_a_process_keeps_the_programs_of_the_last_few_models():
    model(7).log_densities(X)  # after which those of other tests are gone but for one
    built = log_densities._cache_size()
    for power in range(1, 7):
        assert model(power).log_densities(X) == 0.0
    assert log_densities._cache_size() == built + 6
    assert log_densities.kept == KEPT
    assert programs_in_memory() == KEPT


def test_a_model_that_comes_again_finds_its_program():
    assert model(1, shift=2.0).log_densities(X) == -4.0
    built = log_densities._cache_size()
    assert model(1, shift=3.0).log_densities(X) == -9.0
    model(2).log_densities(X)
    assert model(1).log_densities(X) == 0.0
    assert log_densities._cache_size() == built + 1
    model(3).log_densities(X)  # in place of the one used longest ago, the second
    model(1).log_densities(X)
    assert log_densities._cache_size() == built + 2


def test_every_function_of_densities_that_is_compiled_is_one_of_these():
    kind = type(jax.jit(lambda: 0))
    found = set()
    for folder in ("models", "inputs.pymc", "search", "references", "paths", "sampling", "run"):
        package = importlib.import_module(f"refti.{folder}")
        for info in pkgutil.walk_packages(package.__path__, f"refti.{folder}."):
            module = importlib.import_module(info.name)
            found |= {name for name, value in vars(module).items() if isinstance(value, kind)}
    assert found <= {"_fresh"}  # which takes a number alone
