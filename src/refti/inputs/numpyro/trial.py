"""The trial: a NumPyro model computed at a few points, for the faults that only numbers show."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.extend.core import ClosedJaxpr, jaxpr_as_fun
from jaxtyping import Array, Float, Key

from refti.inputs.numpyro.faults import structure, structure_changes
from refti.inputs.numpyro.sites import Site, family, is_latent, kind, log_probabilities, mask_of
from refti.inputs.numpyro.space import NumPyroSpace
from refti.inputs.numpyro.tuning import TUNING
from refti.models.density import QUICK_COMPILE
from refti.models.determinism import is_same_program, run_afresh


class Trial(NamedTuple):
    """What came of it: faults, doubts, and a start at which the density is finite."""

    faults: list[str]
    doubts: list[str]
    start: np.ndarray


class Numbers(NamedTuple):
    """What is computed at a site.

    Attributes:
        log_probability: what it adds to the log density.
        masked_out: of a latent, how many elements a mask leaves out.
        missing: of data, how many values are NaN.
        outside: of data, how many lie outside a support that depends on no other site.
    """

    log_probability: Float[Array, ""]
    masked_out: Array | int
    missing: Array | int
    outside: Array | int


def try_model(space: NumPyroSpace, expected: Mapping[str, str]) -> Trial:
    """The outcome of runs at one point that should be alike, and of some at others."""
    rng = np.random.default_rng(0)
    points = rng.uniform(-TUNING.radius, TUNING.radius, (TUNING.starts, len(space.coordinates)))
    run = _Run(space)
    with run_afresh():
        again = _Run(space)
    changing = structure_changes(expected, run.structure) or structure_changes(
        run.structure, again.structure
    )
    if changing:
        return Trial(changing, [], points[0])
    numbers = run(points[0], 0)
    faults, doubts = _faults_and_doubts(numbers, run.families)
    faults += _random_sites(numbers, run(points[0], 1))
    if not faults and not run.is_written_as(again):
        faults += _random_sites(numbers, again(points[0], 0))
    return Trial(faults, doubts, _find_start(run, points))


class _Run:
    """A model traced once: the numbers of its sites as a function of coordinates and a seed."""

    structure: dict[str, str]
    families: dict[str, str]

    def __init__(self, space: NumPyroSpace):
        def compute(x: Float[Array, " dim"], key: Key[Array, ""]) -> dict[str, Numbers]:
            sites = space.sites(x, key)
            self.structure = structure(sites)
            self.families = {name: family(sites[name]) for name in self.structure}
            return {name: _compute_numbers(sites[name]) for name in self.structure}

        point = jax.ShapeDtypeStruct((len(space.coordinates),), jnp.float64)
        made = jax.make_jaxpr(compute, return_shape=True)(point, jax.random.key(0))
        self._program, outputs = made
        self._form = jax.tree.structure(outputs)
        self._compute = jax.jit(
            lambda data, *at: jaxpr_as_fun(ClosedJaxpr(self._program.jaxpr, data))(*at),
            compiler_options=QUICK_COMPILE,
        )

    def __call__(self, x: np.ndarray, seed: int) -> dict[str, Numbers]:
        """The numbers of every site at a point."""
        values = self._compute(self._program.consts, jnp.asarray(x), jax.random.key(seed))
        return jax.tree.unflatten(self._form, [np.asarray(value) for value in values])

    def is_written_as(self, other: _Run) -> bool:
        """Whether another run gave the same program with the same data."""
        return is_same_program(self._program, other._program)


def _compute_numbers(site: Site) -> Numbers:
    log_probability = log_probabilities(site)
    masked_out: Array | int = 0
    missing: Array | int = 0
    outside: Array | int = 0
    if is_latent(site):
        masked_out = jnp.sum(~mask_of(site))
    elif kind(site) == "observed":
        value, support = jnp.asarray(site["value"]), site["fn"].support
        missing = jnp.sum(jnp.isnan(value))
        if not any(isinstance(bound, jax.core.Tracer) for bound in jax.tree.leaves(support)):
            outside = jnp.sum(~support(value) & mask_of(site))
    return Numbers(jnp.sum(log_probability), masked_out, missing, outside)


def _faults_and_doubts(
    numbers: Mapping[str, Numbers], families: Mapping[str, str]
) -> tuple[list[str], list[str]]:
    faults, doubts = [], []
    for name, at in numbers.items():
        spoilt = not np.isfinite(at.log_probability)
        outside = (
            f'observed site "{name}" has {at.outside} values outside the support of its '
            f"distribution ({families[name]})"
        )
        if at.masked_out:
            faults.append(
                f'Latent site "{name}" has elements that are masked out, whose prior is flat and '
                "improper, so that the evidence does not exist. Sample only the elements that "
                "are used."
            )
        if at.missing and spoilt:  # those under a mask do no harm
            faults.append(
                f'observed site "{name}" has {at.missing} NaN among its values. Leave these out, '
                "or mask them with numpyro.handlers.mask."
            )
        elif at.outside and spoilt:
            faults.append(f"{outside}, so its evidence is zero. Check the data.")
        elif at.outside:  # with NumPyro's validation turned off
            doubts.append(f"{outside}, where NumPyro's log probabilities mean nothing.")
    return faults, doubts


def _random_sites(one: Mapping[str, Numbers], other: Mapping[str, Numbers]) -> list[str]:
    """Which sites differ between two runs at the same point, in words."""
    noise = TUNING.largest_noise
    return [
        f'The log probability of "{name}" changes from run to run though the latent sites do '
        "not: the model draws random numbers of its own (numpyro.prng_key, numpy.random, or a "
        "sample statement hidden by handlers.block). Draw them beforehand and pass them as "
        "arguments."
        for name, at in one.items()
        if not np.allclose(
            at.log_probability, other[name].log_probability, rtol=noise, atol=noise, equal_nan=True
        )
    ]


def _find_start(run: _Run, points: np.ndarray) -> np.ndarray:
    """Zero, or the first point at which the density is finite."""
    centre = np.zeros_like(points[0])
    for x in (centre, *points):
        if np.isfinite(sum(float(at.log_probability) for at in run(x, 0).values())):
            return x
    return centre  # the preflight will tell
