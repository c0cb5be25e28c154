"""Rung: the chains at one lambda of a leg, warmed up and ready to go on."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import jax
import jax.numpy as jnp
import numpy as np
from blackjax.mcmc.hmc import HMCState

from refti.paths.path import Leg
from refti.sampling.chains import Lanes, Trace, Whitening, advance, begin, fresh_steps
from refti.sampling.engine import Engine
from refti.sampling.evaluation import on_rung, paid_values
from refti.sampling.kernels.base import MAX_STEPS, OUTSIDE
from refti.sampling.kernels.elliptical import Base, Standing, strolled
from refti.sampling.whitening import refit

QUARTER_TURN = np.pi / 2  # the trajectory length that forgets a standard normal's start
TARGET_ACCEPTANCE = 0.85
FREEDOM = 5.0  # degrees of freedom of the base of elliptical moves
SHORTER = 0.6  # the part of a step that is left where too many diverged
FEW_DIVERGENCES = 0.001  # the share of iterations above which a rung's steps are made shorter


@dataclass(frozen=True, eq=False)
class Rung:
    """Chains at one lambda.

    Attributes:
        lam: where on the leg.
        whitening: the coordinates the chains move in.
        lanes: where they are, and their step size.
        target: the share of moves to be accepted while adapting.
        moves: iterations for each draw that is kept.
        longest: steps that one trajectory may have.
    """

    lam: float
    whitening: Whitening
    lanes: Lanes | Standing
    target: float = TARGET_ACCEPTANCE
    moves: int = 1
    longest: int = MAX_STEPS

    @property
    def step_size(self) -> float | None:
        """The step size that adaptation arrived at, where moves have one."""
        if isinstance(self.lanes, Standing):
            return None
        return float(np.exp(np.asarray(self.lanes.steps.log_step_size_avg)))

    @property
    def x(self) -> np.ndarray:
        """Where the chains stand, x[chain, dim]."""
        if isinstance(self.lanes, Standing):
            return self.lanes.x
        u, _ = self.lanes.state.position
        location, factor = (np.asarray(a) for a in self.whitening)
        return location + np.asarray(u) @ factor.T


def placed(
    leg: Leg,
    lam: float,
    x: np.ndarray,
    whitening: Whitening,
    engine: Engine,
    *,
    step_size: float | None = None,
    target: float = TARGET_ACCEPTANCE,
) -> Rung:
    """A rung whose chains stand at x[chain, dim]."""
    if engine.kernel == "elliptical":
        return Rung(lam, whitening, _standing(leg, lam, x, engine), target)
    size = 0.7 * x.shape[1] ** -0.25 if step_size is None else step_size
    steps = engine.meter.call(fresh_steps, jnp.asarray(size))
    state = _state(leg, lam, x, whitening, engine)
    return Rung(lam, whitening, Lanes(state, steps), target)


def moved_to(leg: Leg, rung: Rung, x: np.ndarray, engine: Engine) -> Rung:
    """The rung with its chains at x[chain, dim] instead."""
    if isinstance(rung.lanes, Standing):
        return replace(rung, lanes=_standing(leg, rung.lam, x, engine))
    state = _state(leg, rung.lam, x, rung.whitening, engine)
    return replace(rung, lanes=rung.lanes._replace(state=state))


def advanced(
    leg: Leg, rung: Rung, key: jax.Array, engine: Engine, *, adapting: bool = False
) -> tuple[Rung, Trace]:
    """The rung after one stretch, and the stretch's trace."""
    if isinstance(rung.lanes, Standing):
        return _strolled(leg, rung, rung.lanes, key, engine)
    lanes, trace = engine.meter.call(
        advance,
        leg,
        jnp.asarray(rung.lam),
        rung.whitening,
        rung.lanes,
        key,
        jnp.asarray(QUARTER_TURN),
        jnp.asarray(rung.longest),
        jnp.asarray(rung.target),
        jnp.asarray(adapting),
        kernel=engine.kernel,
        iterations=engine.stretch,
    )
    trace = Trace(*(np.asarray(a) for a in trace))
    engine.meter.count(gradients=int(trace.gradients.sum()))
    return replace(rung, lanes=lanes), trace


def gentler(rung: Rung) -> Rung:
    """The rung with shorter steps, where moves have any."""
    if isinstance(rung.lanes, Standing):
        return rung
    steps = rung.lanes.steps
    shorter = steps._replace(log_step_size_avg=steps.log_step_size_avg + np.log(SHORTER))
    return replace(rung, lanes=rung.lanes._replace(steps=shorter))


def warmed_up(
    leg: Leg,
    rung: Rung,
    iterations: int,
    key: jax.Array,
    engine: Engine,
    *,
    apart: bool = False,
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> Rung:
    """The rung after its chains have found and learned its density.

    Stretches double between refits of the whitening; the last quarter adapts only the step size.
    Where trajectories diverge, a larger share of them has to be accepted from then on. Chains on
    modes of their own are `apart`.
    """
    stretches = max(2, -(-iterations // engine.stretch))
    refits = set(_refit_after(stretches))
    window: list[Trace] = []
    for index in range(stretches):
        rung, trace = advanced(leg, rung, jax.random.fold_in(key, index), engine, adapting=True)
        window.append(trace)
        if index + 1 in refits:
            whitening = refit(
                rung.whitening, np.concatenate([part.x for part in window], axis=1), apart=apart
            )
            target = rung.target
            # The very first steps are guesses, and may well diverge.
            if index > 0 and np.mean([part.divergent for part in window]) > FEW_DIVERGENCES:
                target = 0.5 + 0.5 * target
            rung = placed(
                leg,
                rung.lam,
                np.asarray(trace.x[:, -1]),
                whitening,
                engine,
                step_size=rung.step_size,
                target=target,
            )
            window = []
        progress(index + 1, stretches)
    return rung


def _strolled(
    leg: Leg, rung: Rung, standing: Standing, key: jax.Array, engine: Engine
) -> tuple[Rung, Trace]:
    location, factor = (np.asarray(a) for a in rung.whitening)
    meter = engine.meter
    strolls = strolled(
        lambda x: on_rung(leg, rung.lam, x, meter),
        standing,
        Base(location, factor, FREEDOM),
        engine.stretch,
        np.random.default_rng(np.asarray(jax.random.key_data(key))),
    )
    x, shape = strolls.x, strolls.log_density.shape
    # What the moves have looked at is paid for; only at the start of a leg the end is not yet.
    _, delta = paid_values(leg, x.reshape(-1, x.shape[2]), meter)
    trace = Trace(
        x=x,
        log_density=strolls.log_density,
        delta=np.where(np.isfinite(delta), delta, OUTSIDE).reshape(shape),
        acceptance=1 / strolls.evaluations,
        divergent=np.zeros(shape, dtype=bool),
        gradients=strolls.evaluations,
    )
    return replace(rung, lanes=Standing(x[:, -1], strolls.log_density[:, -1])), trace


def _standing(leg: Leg, lam: float, x: np.ndarray, engine: Engine) -> Standing:
    x = np.array(x, dtype=np.float64)
    return Standing(x, on_rung(leg, lam, x, engine.meter))


def _state(leg: Leg, lam: float, x: np.ndarray, whitening: Whitening, engine: Engine) -> HMCState:
    engine.meter.count(gradients=len(x))
    location, factor = (np.asarray(a) for a in whitening)
    u = np.ascontiguousarray(np.linalg.solve(factor, (x - location).T).T)
    return engine.meter.call(begin, leg, jnp.asarray(lam), whitening, u)


def _refit_after(stretches: int) -> Iterator[int]:
    at = 1
    while at <= 0.75 * stretches:
        yield at
        at = 2 * at + 1
