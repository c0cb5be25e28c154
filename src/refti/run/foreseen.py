"""Foreseen: the programs that a run is sure to need, whatever it finds, in the order it needs them.

Small models spend most of their time on these. What depends on what a run finds, such as its
reference, is compiled when it is known.
"""

from __future__ import annotations

from collections.abc import Iterator

from refti.factors.tuning import TUNING as FACTORS
from refti.run.prior_integral import problem_of_prior
from refti.run.problem import Problem
from refti.run.settings import Settings
from refti.run.store.memory import NoStore, StoreMemory
from refti.run.tuning import PILOT
from refti.run.wide_densities import leg_of_wanderers
from refti.sampling.ahead import Call
from refti.sampling.evaluation import first_call
from refti.sampling.kernels.base import RungDensity
from refti.sampling.kernels.gradient_kernel import GradientKernel
from refti.sampling.kernels.registry import KERNELS
from refti.sampling.whitening import identity


def foresee(problem: Problem, memory: StoreMemory | NoStore) -> Iterator[Call]:
    """Calls whose programs the run will need, but for its very first.

    None where blocks run in other processes, or where the density is too large for compiling to
    be what takes long.
    """
    if memory.workers > 0 or problem.model.dim > FACTORS.densest:
        return
    yield from list(_of_one(problem))[1:]
    if problem.settings.check_prior and problem.model.prior is not None:
        chains = problem.settings.chains
        yield from _of_one(problem_of_prior(problem, Settings(chains=chains, search="quick")))


def _of_one(problem: Problem) -> Iterator[Call]:
    end, settings = problem.ends[0], problem.settings
    kernel, dim = KERNELS[settings.kernel], end.model.dim
    if not isinstance(kernel, GradientKernel) or not end.leg.has_gradient:
        return
    yield first_call(end.leg, settings.chains, dim)
    leg, _, _ = leg_of_wanderers(end)
    yield first_call(leg, PILOT.wanderers_at_once, dim)
    rung = RungDensity(end.leg, end.lam, identity(dim))
    yield kernel.first_call(rung, settings.chains, problem.block_length)
