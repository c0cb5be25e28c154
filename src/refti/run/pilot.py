"""Exploration: where the posterior is, from its modes and first draws or from the user's draws."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from refti.errors import ModelError
from refti.models.model import Model, ValueAndGradient
from refti.paths.path import Leg
from refti.references.gaussian import gaussian
from refti.sampling.chains import Trace
from refti.sampling.engine import Engine
from refti.sampling.evaluation import value_and_gradient
from refti.sampling.rung import Rung, advanced, placed, warmed_up
from refti.sampling.whitening import of_draws, whitening
from refti.search.mode import Mode
from refti.search.modes import find_modes
from refti.search.modes_by_values import find_modes_by_values
from refti.search.peaks import Modes
from refti.search.preflight import preflight
from refti.search.proper import require_finite_parameters, require_proper

STRETCHES = 5  # of the pilot that are kept
FEW_STRETCHES = 2  # where evaluations are dear; more follow where they help
GIVEN_STRETCHES = 2  # drawn to compare the user's draws with
TEMPERATURES: tuple[float, ...] = (
    10.0,
    10.0,
    30.0,
    100.0,
    100.0,
    1000.0,
)  # at which other modes are searched for
FEW_TEMPERATURES = (10.0, 100.0, 1000.0)  # where evaluations are dear
FEW_MOVES = 12  # of each chain at each of those
STRIDES = 32  # that a wanderer's trajectory may have; short of ground it would take them all
WIDEST = 1000.0  # spreads of the mode within which they are
FAR_OFF = 3.0  # standard deviations of the log density between the user's draws and ours


@dataclass(frozen=True, eq=False)
class Pilot:
    """The first draws of a density, and chains that go on from them.

    Attributes:
        rung: the chains.
        x: `[chain, draw, dim]`.
        log_density: `[chain, draw]`.
    """

    rung: Rung
    x: np.ndarray
    log_density: np.ndarray

    @property
    def draws(self) -> np.ndarray:
        """All draws, x[draw, dim]."""
        return self.x.reshape(-1, self.x.shape[2])

    def halves(self) -> tuple[np.ndarray, np.ndarray]:
        """The first and the second half of every chain, each x[draw, dim]."""
        middle = self.x.shape[1] // 2
        first, second = self.x[:, :middle], self.x[:, middle:]
        return first.reshape(-1, self.x.shape[2]), second.reshape(-1, self.x.shape[2])


@dataclass(frozen=True, eq=False)
class Exploration:
    """What is known of the density at one end of a leg; each part is found when first needed."""

    model: Model
    leg: Leg
    lam: float  # which end of the leg: 0 or 1
    engine: Engine
    warmup: int
    progress: Callable[[str, int, int], None]
    given: np.ndarray | None = None

    @cached_property
    def evaluate(self) -> ValueAndGradient:
        """The density and its gradient at given points."""
        return value_and_gradient(self.leg, self.lam, self.engine.chains, self.engine.meter)

    @cached_property
    def starts(self) -> np.ndarray:
        """Points inside the support, best first, after the model has passed its preflight."""
        return preflight(
            self.model, self.evaluate, np.random.default_rng(self.engine.seed), self.given
        )

    def check(self) -> None:
        """Nothing, after the model has passed its preflight; a ModelError otherwise."""
        _ = self.starts

    @cached_property
    def landscape(self) -> Modes:
        """The peaks of the density, after it was seen to fall away from them."""
        self.progress("finding the modes", 0, 1)
        if self.leg.has_gradient:
            rng = np.random.default_rng((self.engine.seed, 7))
            found = find_modes(self.evaluate, self.starts, rng, self._explore_flattened)
        else:
            found = find_modes_by_values(self.evaluate, self.starts, self._explore_flattened)
        rng = np.random.default_rng(self.engine.seed)
        require_proper(self.model, self.evaluate, found.mode, rng)
        require_finite_parameters(self.model, found.mode)
        self.progress("finding the modes", 1, 1)
        return found

    @property
    def mode(self) -> Mode:
        """The highest mode found."""
        return self.landscape.mode

    @property
    def modes_apart(self) -> bool:
        """Whether the density has several modes that chains will sit on."""
        return self.mode.factor() is not None and len(self.landscape.peaks) > 1

    @cached_property
    def pilot(self) -> Pilot:
        """Draws of the density, the user's or by chains, and chains that go on from them."""
        return self._sampled() if self.given is None else self._from_given(self.given)

    @property
    def draws(self) -> np.ndarray:
        """Draws of the density, x[draw, dim]."""
        return self.pilot.draws

    def _sampled(self) -> Pilot:
        landscape, engine = self.landscape, self.engine
        rung = placed(
            self.leg,
            self.lam,
            self._around_peaks(),
            whitening(landscape.peaks[0], landscape.factor),
            engine,
        )
        rung = warmed_up(
            self.leg,
            rung,
            self.warmup,
            engine.key(0, int(self.lam)),
            engine,
            apart=self.modes_apart,
            progress=lambda done, total: self.progress("finding the posterior", done, total),
        )
        return self._kept(rung, STRETCHES if self.leg.has_gradient else FEW_STRETCHES)

    def continued(self, pilot: Pilot) -> Pilot:
        """The pilot with as many draws again."""
        made = pilot.x.shape[1] // self.engine.stretch
        more = self._kept(pilot.rung, made, made)
        return Pilot(
            more.rung,
            np.concatenate([pilot.x, more.x], axis=1),
            np.concatenate([pilot.log_density, more.log_density], axis=1),
        )

    def _kept(self, rung: Rung, stretches: int, made: int = 0) -> Pilot:
        traces = []
        for index in range(stretches):
            key = self.engine.key(1, int(self.lam), made + index)
            rung, trace = advanced(self.leg, rung, key, self.engine)
            traces.append(trace)
            self.progress("drawing from the posterior", index + 1, stretches)
        return Pilot(
            rung,
            np.concatenate([trace.x for trace in traces], axis=1),
            np.concatenate([trace.log_density for trace in traces], axis=1),
        )

    def _from_given(self, given: np.ndarray) -> Pilot:
        """The user's draws, after chains begun at them were seen to stay among them."""
        engine = self.engine
        picks = engine.generator(6).permutation(len(given))[: 4 * engine.chains]
        values, _ = self.evaluate(given[picks])
        inside = given[picks][np.isfinite(values)]  # not empty: the preflight has seen to that
        start = np.resize(inside, (engine.chains, self.model.dim))
        if self.modes_apart:
            # Chains on every mode tell of one that the draws do not know: they disagree.
            others = self.landscape.peaks[: engine.chains // 2]
            start[: len(others)] = others
        rung = placed(self.leg, self.lam, start, of_draws(given), engine)
        rung = warmed_up(self.leg, rung, self.warmup, engine.key(0, int(self.lam)), engine)
        fresh = self._kept(rung, GIVEN_STRETCHES).log_density
        theirs = values[np.isfinite(values)]
        distance = abs(theirs.mean() - fresh.mean()) / (fresh.std() + 1e-9 * abs(fresh.mean()))
        if distance > FAR_OFF:
            raise ModelError(
                f"draws= are not draws of this model: their log density is {theirs.mean():.6g} "
                f"on average, that of chains begun at them {fresh.mean():.6g} ± {fresh.std():.3g}. "
                "Give the posterior draws of this very model and data, or leave draws= out."
            )
        return Pilot(rung, given[None], np.zeros((1, len(given))))

    def _explore_flattened(self, mode: np.ndarray, factor: np.ndarray) -> np.ndarray:
        """Where chains on the flattened density come to, x[n, dim].

        At a temperature T the density to the power 1 / T is as much wider as the root of T, and
        the dips in it are T times shallower: modes 30 spreads apart are one hill at T = 100.
        Given are the last points of chains, and as many that are highest for their distance.
        """
        engine, chains = self.engine, self.engine.chains
        wide = gaussian(mode, WIDEST * factor, 0.0)
        leg = Leg(wide, self.model.density)
        x = np.broadcast_to(mode, (chains, len(mode)))
        found = []
        temperatures, last, highest = TEMPERATURES, chains, chains
        if not self.leg.has_gradient:
            temperatures, last, highest = FEW_TEMPERATURES, 2, 4
            engine = replace(engine, stretch=FEW_MOVES)
        for index, temperature in enumerate(temperatures):
            wider = whitening(mode, np.sqrt(temperature) * factor)
            rung = replace(placed(leg, 1 / temperature, x, wider, engine), longest=STRIDES)
            key = engine.key(11, int(self.lam), index)
            _, trace = advanced(leg, rung, key, engine, adapting=True)
            x = np.asarray(trace.x[:, -1])
            found += [x[:last], _highest_for_distance(trace, 1 / temperature, rung)[:highest]]
        return np.concatenate(found)

    def _around_peaks(self) -> np.ndarray:
        """Points spread about each peak in turn, those outside the support drawn in towards it."""
        landscape, chains = self.landscape, self.engine.chains
        centres = landscape.peaks[np.arange(chains) % len(landscape.peaks)]
        noise = self.engine.generator(7, int(1 - self.lam)).normal(size=centres.shape)
        # Starts that stand in for peaks are spread out already.
        offsets = noise @ landscape.factor.T if self.mode.factor() is not None else 0 * noise
        for _ in range(20):
            values, _ = self.evaluate(centres + offsets)
            outside = ~np.isfinite(values)
            if not outside.any():
                break
            offsets[outside] *= 0.5
        return centres + offsets


def _highest_for_distance(trace: Trace, lam: float, rung: Rung) -> np.ndarray:
    """The trace's points x[n, dim], first those far higher than a Gaussian is at their distance."""
    x = np.asarray(trace.x).reshape(-1, trace.x.shape[-1])
    value = np.ravel(trace.log_density) + (1 - lam) * np.ravel(trace.delta)
    location, factor = (np.asarray(a) for a in rung.whitening)
    squares = np.sum(np.linalg.solve(factor, (x - location).T) ** 2, axis=0)
    depth = (value.max() - value) / (1e-3 + squares)
    return x[np.argsort(depth)]
