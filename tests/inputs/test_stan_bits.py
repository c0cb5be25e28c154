"""The same bits from Stan wherever a batch runs: in any thread, wherever its tape lies."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import refti
from case_studies import STUDIES
from refti.inputs.stan.space import StanSpace
from zoo import MODELS

HIDDEN = Path(__file__).parents[1] / "stan" / "hidden.stan"  # compiled by other tests too
MAKERS: dict[str, Callable[[], refti.Model]] = {
    name: lambda zoo=zoo: refti.from_stan(zoo.stan, zoo.DATA, check_prior=False)  # type: ignore[misc]
    for name, zoo in MODELS.items()
} | {
    study.name: lambda study=study: refti.from_stan(study.program, study.data, check_prior=False)  # type: ignore[misc]
    for study in STUDIES
    if study.name != "coin"  # has no gradient
}
THREADS = 4


def gradients(model: refti.Model, x: np.ndarray) -> bytes:
    """The bits of values and gradients at points, by a loop in the thread that calls."""
    space = model.space
    assert isinstance(space, StanSpace)
    library = space._library
    function = ctypes.CFUNCTYPE(ctypes.c_int, *[ctypes.c_void_p] * 7)(
        library.function("bs_log_density_gradient")
    )
    found = np.zeros((len(x), model.dim + 1))
    for point, out in zip(x, found, strict=True):
        error = ctypes.c_void_p()
        where = (point.ctypes.data, out.ctypes.data, out[1:].ctypes.data, ctypes.addressof(error))
        function(library.address, 0, 1, *where)
    return found.tobytes()


def move_tape(model: refti.Model, size: int) -> None:
    """Moves the tape of the thread that calls on by so many bytes."""
    space = model.space
    assert isinstance(space, StanSpace)
    library = space._library
    ctypes.CFUNCTYPE(None, ctypes.c_long)(library.function("refti_shift_tape"))(size)


def require_same_bits(model: refti.Model) -> None:
    x = 0.5 * np.random.default_rng(1).normal(size=(16, model.dim))
    alone = gradients(model, x)

    def moved(thread: int) -> set[bytes]:
        seen = set()
        for _ in range(4):
            move_tape(model, 8 * (thread + 1))
            seen.add(gradients(model, x))
        return seen

    with ThreadPoolExecutor(THREADS) as pool:
        assert set.union(*pool.map(moved, range(THREADS))) == {alone}
    with jax.enable_x64(True):
        batch = jax.jit(jax.vmap(jax.value_and_grad(model.density.log_density)))
        first = [np.asarray(part).tobytes() for part in batch(jnp.asarray(x))]
        with ThreadPoolExecutor(THREADS) as pool:
            again = list(pool.map(lambda _: _in_64_bits(batch, x), range(THREADS)))
    assert all(one == first for one in again)


def _in_64_bits(batch: Callable, x: np.ndarray) -> list[bytes]:
    with jax.enable_x64(True):
        return [np.asarray(part).tobytes() for part in batch(jnp.asarray(x))]


def test_a_program_with_sums_over_vectors():
    data = {"which": 0, "J": 11, "y": list(np.linspace(-1, 2, 11))}
    require_same_bits(refti.from_stan(HIDDEN, data, progress=False))


@pytest.mark.long  # among them the schools, whose bits once depended on the thread
@pytest.mark.parametrize("name", MAKERS)
def test_every_program_of_the_zoo_and_the_case_studies(name: str):
    require_same_bits(MAKERS[name]())
