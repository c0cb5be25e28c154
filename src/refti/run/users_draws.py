"""Posterior draws of the user, judged: how much they are worth, and what is wrong with them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from refti.draws import autocorrelation
from refti.errors import ModelError, SamplingError
from refti.run.tuning import PILOT, USERS_DRAWS


@dataclass(frozen=True)
class Judged:
    """What the user's draws are worth.

    Attributes:
        drawn: how many there are.
        chains: how many chains they came in.
        effective: how many independent draws the worst coordinate's are worth.
        r_hat: of the worst coordinate.
        faults: what is wrong with them, in words.
    """

    drawn: int
    chains: int
    effective: float
    r_hat: float
    faults: tuple[str, ...] = ()

    @property
    def agree(self) -> bool:
        """Whether they are many, and the same all along and in all chains."""
        enough = self.effective >= USERS_DRAWS.fewest
        return enough and self.r_hat <= USERS_DRAWS.most_r_hat and not self.faults

    def record(self) -> dict[str, Any]:
        """The same as plain values."""
        return {
            "drawn": self.drawn,
            "chains": self.chains,
            "effective": self.effective,
            "r_hat": self.r_hat,
            "faults": list(self.faults),
        }


def judge_alone(x: np.ndarray, names: Sequence[str]) -> Judged:
    """What draws x[chain, draw, dim] say of themselves, by the names of their coordinates."""
    series = np.moveaxis(x, 2, 0)
    sizes = np.minimum(autocorrelation.bulk_size(series), x.shape[0] * x.shape[1])
    r_hats = autocorrelation.r_hat(series)
    faults: list[str] = []
    begun_elsewhere = _begins_elsewhere(series)
    worst = int(np.argmin(sizes))
    if begun_elsewhere is not None:
        faults.append(
            "the chains begin in a different place from where they continue "
            f"({names[begun_elsewhere]!r}), so they seem to include warm-up; leave it out"
        )
    elif sizes[worst] < USERS_DRAWS.fewest or r_hats.max() > USERS_DRAWS.most_r_hat:
        apart = int(np.argmax(r_hats))
        faults.append(
            f"of {names[worst]!r} they are worth only {sizes[worst]:.0f} independent draws, and "
            f"the R-hat of their chains, or halves of them, is {r_hats[apart]:.2f} "
            f"({names[apart]!r}); expected {USERS_DRAWS.fewest:.0f} and "
            f"{USERS_DRAWS.most_r_hat:g}"
        )
    return Judged(
        x.shape[0] * x.shape[1],
        x.shape[0],
        float(sizes[worst]),
        float(r_hats.max()),
        tuple(faults),
    )


def beside_fresh_ones(x: np.ndarray, fresh: np.ndarray, names: Sequence[str]) -> Iterator[str]:
    """How draws differ from those of chains that began at them, both [chain, draw, dim].

    One sentence at the most: that of the coordinate in which they differ most.
    """
    users, ours = (np.moveaxis(part, 2, 0) for part in (x, fresh))
    sizes = [np.maximum(autocorrelation.bulk_size(part), 2.0) for part in (users, ours)]
    means = [part.mean(axis=(1, 2)) for part in (users, ours)]
    spreads = [part.std(axis=(1, 2)) for part in (users, ours)]
    with np.errstate(divide="ignore", invalid="ignore"):
        wider = np.log(spreads[1] / spreads[0])
        doubt = np.sqrt(0.5 / sizes[0] + 0.5 / sizes[1])
        shift = np.abs(means[1] - means[0]) / spreads[1]
        shift_doubt = np.sqrt(1 / sizes[0] + 1 / sizes[1])
    far = (np.abs(wider) > np.log(USERS_DRAWS.other_width)) & (
        np.abs(wider) > USERS_DRAWS.most_distance * doubt
    )
    if far.any():
        worst = int(np.argmax(np.where(far, np.abs(wider), 0)))
        kind = "narrow" if wider[worst] > 0 else "wide"
        yield (
            f"they are too {kind}: {names[worst]!r} (unconstrained) has a standard deviation of "
            f"{spreads[0][worst]:.3g} in them and of {spreads[1][worst]:.3g} in chains begun at "
            "them"
        )
        return
    moved = (shift > USERS_DRAWS.other_place) & (shift > USERS_DRAWS.most_distance * shift_doubt)
    if moved.any():
        worst = int(np.argmax(np.where(moved, shift, 0)))
        yield (
            f"they are elsewhere: {names[worst]!r} (unconstrained) is {means[0][worst]:.3g} in "
            f"them on average and {means[1][worst]:.3g} in chains begun at them"
        )


def require_likeness(users: np.ndarray, fresh: np.ndarray) -> None:
    """Raises ModelError if log densities of the user's draws are far from those of fresh ones."""
    distance = abs(users.mean() - fresh.mean()) / (fresh.std() + 1e-9 * abs(fresh.mean()))
    if distance > PILOT.most_unlike:
        raise ModelError(
            f"draws= are not draws of this model: their log density is {users.mean():.6g} on "
            f"average, that of chains begun at them {fresh.mean():.6g} ± {fresh.std():.3g}. Give "
            "posterior draws of exactly this model and these data, or leave out draws=."
        )


def require_spread(draws: np.ndarray, names: Sequence[str]) -> None:
    """Raises SamplingError if no chain has moved along some coordinate of draws[n, dim]."""
    still = np.flatnonzero(np.ptp(draws, axis=0) == 0)
    if len(still):
        name, at = names[still[0]], draws[0, still[0]]
        raise SamplingError(
            f"No chain could move along the coordinate {name!r} (unconstrained) from {at:.6g}: "
            "the density is zero, or not finite, next to it, or too narrow for floating-point "
            "numbers. Check the density near there; if it is right, scale the parameter so that "
            "its posterior is about 1 wide."
        )


def _begins_elsewhere(series: np.ndarray) -> int | None:
    """The coordinate of series[dim, chain, draw] whose first tenth is not where its last half is.

    None if there is none. The first of chains that were warmed up before is as good as the last.
    """
    draws = series.shape[2]
    if draws < USERS_DRAWS.fewest_a_chain:
        return None
    early, late = series[:, :, : draws // 10], series[:, :, draws // 2 :]
    size = np.maximum(autocorrelation.bulk_size(late), 2.0)
    spread = late.std(axis=(1, 2))
    with np.errstate(divide="ignore", invalid="ignore"):
        distance = np.abs(early.mean(axis=(1, 2)) - late.mean(axis=(1, 2))) / spread
    distance /= np.sqrt(1 / size + 5 / size)  # a tenth of the draws is a fifth of the last half
    worst = int(np.nanargmax(distance)) if np.isfinite(distance).any() else 0
    return worst if distance[worst] > USERS_DRAWS.most_distance else None
