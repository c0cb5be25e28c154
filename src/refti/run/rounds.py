"""The loop: sample in rounds, each as long as all before it, until the estimate will do."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from refti.checks.ended import Ended
from refti.checks.tuning import TUNING as CHECKS
from refti.draws import autocorrelation
from refti.errors import SamplingError
from refti.estimators import influence, mbar
from refti.paths import path as paths
from refti.paths.path import Leg
from refti.progress import Progress
from refti.run.choose_reference import fitted, length
from refti.run.conclude import Conclusion, conclude
from refti.run.plan import WARMUP, Route
from refti.run.settings import Settings
from refti.sampling.engine import Engine
from refti.sampling.exact_start import count_inside
from refti.sampling.leg import LegState, begun, collected, inserted, inside_of, refined, stepped
from refti.sampling.metering import OutOfBudgetError
from refti.sampling.rung import Rung, gentler, moved_to, placed, warmed_up
from refti.sampling.whitening import of_draws

WARMUP_BESIDE = 150  # iterations of chains begun where those of the next rung stand
WARMUP_BESIDE_BY_VALUES = 50
FIRST_ROUND = 4  # stretches of every rung
ROUNDS = 10
MOST_MOVES = 8
GENTLE_ROUNDS = 4  # in which divergences may be mended by shorter steps
REFITS = 2
REFIT_GAIN = 0.7  # of the present length that a refitted reference must come down to


@dataclass(frozen=True, eq=False)
class Outcome:
    """What the loop ends with: the route it took in the end, and why it ended early if it did."""

    route: Route
    conclusion: Conclusion
    rounds: int
    ended: Ended | None


@dataclass
class Loop:
    """A run under way. What it has got so far outlasts an interruption."""

    route: Route
    asked: Settings
    engine: Engine
    report: Progress
    states: list[LegState]
    rounds: int = 0
    refits: int = 0
    latest: Outcome | None = None  # of the rounds before a refit, until there is a better one

    def run(self) -> Outcome:
        """Rounds until the checks hold, nothing more can be mended, or the budget is spent."""
        ended: Ended | None = None
        try:
            self._go()
        except OutOfBudgetError:
            ended = Ended.OUT_OF_BUDGET
        except KeyboardInterrupt:
            if not self._can_conclude and self.latest is None:
                raise
            ended = Ended.INTERRUPTED
        if self._can_conclude:
            return Outcome(self.route, self._conclusion(), self.rounds, ended)
        if self.latest is None:
            raise SamplingError(
                "The budget was spent before the first estimate could be made. Raise "
                "max_seconds= or max_evaluations=."
            )
        return replace(self.latest, ended=ended)

    def _go(self) -> None:
        self._prepare()
        for index in range(ROUNDS):
            self._round(index)
            self.rounds += 1
            if self.asked.kept is not None:
                return
            conclusion = self._conclusion()
            mended = {"divergences"} if index < GENTLE_ROUNDS else set()
            failed = [check for check in conclusion.checks if not check.ok]
            # Where another check fails, more draws would be for nothing.
            if not failed or not all(c.mended_by_draws or c.name in mended for c in failed):
                return
            if index >= 2 and self._is_hopeless(conclusion):
                return
            before = Outcome(self.route, conclusion, self.rounds, None)
            if self._refit():
                self.latest = before
                self._prepare()
            else:
                self.states = [soothed(allotted(state)) for state in self.states]

    def _prepare(self) -> None:
        """The legs with their ladders, warmed up."""
        made = max((state.steps for state in self.states), default=0)
        self.states = []
        ladder = self.asked.ladder
        for index, leg in enumerate(self.route.path.legs):
            last = self._last(leg, index)
            state = begun(leg, index, last, self.engine, self._warmup_beside, made)
            report = partial(self.report, f"building the ladder of leg {index + 1}")
            if ladder is None:
                state = refined(state, self.engine, self._warmup_beside, report)
            elif len(ladder) > 2:
                between = [float(lam) for lam in ladder[1:-1]]
                state = inserted(state, between, self.engine, self._warmup_beside)
            self.states.append(state)

    @property
    def _warmup_beside(self) -> int:
        usual = WARMUP_BESIDE if self.route.path.has_gradient else WARMUP_BESIDE_BY_VALUES
        return usual if self.asked.warmup is None else self.asked.warmup

    def _last(self, leg: Leg, index: int) -> Rung:
        """Chains at the end of a leg: those at hand at the end of the path, or new ones."""
        engine = self.engine
        if index == len(self.route.path.legs) - 1:
            rung = self.route.last
            return moved_to(leg, rung, rung.x, engine)
        pool = self.route.pool
        picks = engine.generator(12, index).permutation(len(pool))[: engine.chains]
        start = inside_of(leg, np.resize(pool[picks], (engine.chains, pool.shape[1])), engine)
        rung = placed(leg, 1.0, start, of_draws(pool), engine)
        return warmed_up(leg, rung, WARMUP, engine.key(9, index), engine)

    def _round(self, index: int) -> None:
        """As many steps again as were made so far, or as many as were asked for."""
        stretch, kept = self.engine.stretch, self.asked.kept
        total = FIRST_ROUND * 2**index if kept is None else -(-kept // stretch)
        for i in range(len(self.states)):
            while len(self.states[i].blocks) < total:
                self.states[i] = stepped(self.states[i], self.engine)
                stage = f"round {index + 1}" + (f", leg {i + 1}" if len(self.states) > 1 else "")
                self.report(stage, len(self.states[i].blocks), total)
            self.states[i] = sharpened(self.states[i], self.engine, index)

    @property
    def _can_conclude(self) -> bool:
        legs = len(self.route.path.legs)
        fewest = 2 if self.asked.kept is None else 1
        return len(self.states) == legs and all(
            len(state.blocks) >= fewest for state in self.states
        )

    def _conclusion(self) -> Conclusion:
        samples = [collected(state, self.asked.kept) for state in self.states]
        return conclude(self.route.path, samples, self.asked)

    def _is_hopeless(self, conclusion: Conclusion) -> bool:
        """Whether the draws still wanting, at the rate so far, are beyond the budget."""
        checks = {check.name: check for check in conclusion.checks}
        size, error = checks["effective draws"], checks["target error"]
        factor = max(size.threshold / max(size.value, 1.0), (error.value / error.threshold) ** 2)
        return self.engine.meter.spent * factor > self.asked.max_evaluations

    def _refit(self) -> bool:
        """Whether the reference was fitted anew, to all draws of the posterior made so far.

        It is where the ladder has more than two rungs, the draws have at least doubled, and the
        way from a reference fitted to the first half of them to the second half is that much
        shorter. The estimate then begins anew: draws that a reference was fitted to have no part
        in an estimate that starts from it.
        """
        route, state = self.route, self.states[-1]
        if route.choice is None or len(self.states) > 1 or len(state.lambdas) < 3:
            return False
        points = np.concatenate([block.end_points for block in state.blocks], axis=1)
        middle, dim = points.shape[1] // 2, points.shape[2]
        if self.refits >= REFITS or points.size // dim < 2 * len(route.pool):
            return False
        first = np.concatenate([route.pool, points[:, :middle].reshape(-1, dim)])
        second = points[:, middle:].reshape(-1, dim)
        family, explored = route.choice.family, route.explored
        now = length(explored, route.choice.reference, second)
        pilot = route.choice.pilot
        then = length(explored, fitted(explored, family, pilot, first), second)
        if then > REFIT_GAIN * now:
            return False
        pool = np.concatenate([first, second])
        reference = fitted(explored, family, pilot, pool)
        self.refits += 1
        self.route = replace(
            route,
            path=paths.telescopic(reference, (), explored.model),
            pool=pool,
            last=state.rungs[-1],
            choice=replace(route.choice, reference=reference),
        )
        return True


def allotted(state: LegState) -> LegState:
    """The leg with moves for each draw where they lower the error most for what they cost.

    The variance that a rung adds falls with its draws, so the best number of them goes with the
    root of variance over cost; but where draws are all but independent already, more moves between
    them add nothing.
    """
    sample = collected(state)
    series = influence(sample.draws)[state.exact :]
    variances = autocorrelation.standard_error(series) ** 2
    times = series[0].size / np.maximum(autocorrelation.effective_sample_size(series), 1.0)
    costs = np.mean([block.gradients for block in state.blocks], axis=0)
    moves = np.array([rung.moves for rung in state.rungs])
    wanted = np.sqrt(variances / costs)
    positive = wanted[wanted > 0]
    if len(state.rungs) < 2 or len(positive) == 0:
        return state
    wanted = moves * np.minimum(wanted / np.median(positive), times / 2)
    wanted = 2.0 ** np.round(np.log2(np.clip(wanted, 1, MOST_MOVES)))
    rungs = tuple(
        replace(rung, moves=int(count)) for rung, count in zip(state.rungs, wanted, strict=True)
    )
    return replace(state, rungs=rungs)


def soothed(state: LegState) -> LegState:
    """The leg with shorter steps where so many trajectories diverged that trust is at stake."""
    latest = state.blocks[len(state.blocks) // 2 :]  # those before had longer steps
    often = np.mean([block.divergences for block in latest], axis=0) > CHECKS.most_divergences / 2
    rungs = [gentler(rung) if bad else rung for rung, bad in zip(state.rungs, often, strict=True)]
    return replace(state, rungs=tuple(rungs))


def sharpened(state: LegState, engine: Engine, index: int) -> LegState:
    """The leg with the share inside the support counted until its error no longer matters.

    Counting goes on while it costs less than the sampling did.
    """
    share = state.share
    if not state.exact or share.inside == share.drawn:
        return state
    error = mbar(collected(state).draws).error
    meter, turn = engine.meter, 0
    budget = meter.gradients if state.leg.has_gradient else meter.densities // 2
    while share.log_error > max(error / 3, 1e-4) and share.drawn < budget:
        key = engine.key(10, state.index, index, turn)
        _, _, share = count_inside(state.leg, share, key, engine)
        turn += 1
    return replace(state, share=share)
