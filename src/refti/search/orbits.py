"""Orbits: modes that count as one: images of each other by a symmetry, bumps of one ridge.

The symmetries are renumberings of components and flips of signs, found by the density alone.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from refti.errors import ModelError
from refti.models.model import ValueAndGradient
from refti.models.space import Space
from refti.search.known_peaks import KnownPeaks, OneForAll
from refti.search.new_peaks import with_top
from refti.search.relabelling import Relabelling, find_relabelling
from refti.search.sign_flips import closed, flips_between, flips_by_name, no_flips
from refti.search.tuning import TUNING


@dataclass
class Orbits:
    """Which known peaks are images of each other, or bumps of one ridge, and so count as one.

    Attributes:
        space: the parameters of the density; None where nothing is known of them.
        relabelling: the renumberings that change nothing, once some were found.
        flips: the signs [flip, dim] of coordinates that change nothing; None before any was found.
        added: how many peaks were added as images of others.
    """

    space: Space | None = None
    relabelling: Relabelling | None = None
    flips: np.ndarray | None = None
    added: int = 0
    _of: dict[int, int] = field(default_factory=dict)  # the first peak of the orbit, by peak
    _whole: set[int] = field(default_factory=set)  # peaks all of whose images are known
    _tried_at: int = 1  # modes known when renumberings were last looked for

    def of(self, peak: int) -> int:
        """The number of the peak that stands for all that count as one with a peak."""
        return self._of.get(int(peak), int(peak))

    def first_ones(self, peaks: np.ndarray) -> np.ndarray:
        """Those of some peaks that come first among those that count as one."""
        _, first = np.unique([self.of(peak) for peak in peaks], return_index=True)
        return np.asarray(peaks[np.sort(first)])

    def complete(self, evaluate: ValueAndGradient, known: KnownPeaks) -> KnownPeaks:
        """The peaks with all images of those that hold mass, where components may be renumbered."""
        telling = known.with_mass(TUNING.telling_log_share)
        if self.space is None or not known.is_curved[telling].all():
            return known
        if self.flips is None:
            self.flips = self._flips_by_name(evaluate, known, telling)
        if len(self.first_ones(telling)) > self._tried_at:
            self._look_for_symmetries(evaluate, known, telling)
        if self.relabelling is None and len(self.flips) == 1:
            return known
        for peak in telling:
            if int(peak) not in self._whole:
                known = self._with_images(evaluate, known, int(peak))
        # Whatever came to be one of those that are known tells no more of other symmetries.
        self._tried_at = len(self.first_ones(known.with_mass(TUNING.telling_log_share)))
        return known

    def _flips_by_name(
        self, evaluate: ValueAndGradient, known: KnownPeaks, telling: np.ndarray
    ) -> np.ndarray:
        """Flips of whole parameters and of components that move the heaviest mode."""
        assert self.space is not None
        heaviest = int(telling[0])

        def moves(signs: np.ndarray) -> bool:
            image = known.whitened((signs * known.x[heaviest])[None], heaviest)
            return float(np.linalg.norm(image)) > TUNING.same_peak

        return flips_by_name(self.space, evaluate, _beside(known, telling), moves)

    def _look_for_symmetries(
        self, evaluate: ValueAndGradient, known: KnownPeaks, telling: np.ndarray
    ) -> None:
        assert self.space is not None and self.flips is not None
        points, firsts = _beside(known, telling), self.first_ones(telling)
        self._tried_at = len(firsts)
        before = self.flips
        if self.relabelling is None:
            self.relabelling = find_relabelling(self.space, evaluate, points)
            if self.relabelling is not None:
                self.flips = closed(self.flips, points[0], self.relabelling)
        self.flips = flips_between(evaluate, known, firsts, points, self.flips, self.relabelling)
        if len(self.flips) > len(before):
            self._whole.clear()

    def _with_images(self, evaluate: ValueAndGradient, known: KnownPeaks, peak: int) -> KnownPeaks:
        """The peaks with all images of one."""
        for x, slopes in self._images(known.x[peak]):
            factor = np.linalg.cholesky(_square(slopes @ known.factors[peak]))
            x, height = _nearer_the_top(evaluate, x, factor)
            before = len(known)
            known = with_top(evaluate, known, x, height, factor)
            here = before if len(known) > before else _nearest(known, x)
            self.added += len(known) - before
            image = int(known.belongs_to[here])
            self.join(image, peak)
            self._whole |= {image, peak}
        return known

    def _images(self, x: np.ndarray) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Every image of a point under the symmetries, and the matrix of its derivatives."""
        flips = no_flips(len(x)) if self.flips is None else self.flips
        for order in [None] if self.relabelling is None else self.relabelling.orders():
            image, slopes = x, np.eye(len(x))
            if self.relabelling is not None and order is not None:
                try:
                    image, slopes = self.relabelling.with_slopes(x, order)
                except ModelError:  # rounded to the edge of the support
                    continue
            for signs in flips:
                yield signs * image, signs[:, None] * slopes

    def join(self, one: int, other: int) -> None:
        """Makes one orbit of those of two peaks: images of each other, or bumps of one ridge."""
        first, second = sorted((self.of(one), self.of(other)))
        self._of |= {peak: first for peak, of in self._of.items() if of == second}
        self._of[one] = self._of[other] = self._of[second] = first

    @property
    def sentence(self) -> str:
        """What was done, in words; nothing if nothing was."""
        said = [] if self.relabelling is None else [self.relabelling.sentence]
        if self.flips is not None and len(self.flips) > 1 and self.space is not None:
            owners = np.array(self.space.owners)
            changed = dict.fromkeys(owners[(self.flips < 0).any(axis=0)].tolist())
            ways = len(self.flips)
            said.append(
                f"the density is the same under {ways} choices of signs of {', '.join(changed)}"
            )
        if not said:
            return ""
        modes = f"{self.added} mode{' was' if self.added == 1 else 's were'}"
        return f"{' and '.join(said)}, by which {modes} added to those met"


def _beside(known: KnownPeaks, peaks: np.ndarray) -> np.ndarray:
    """Points beside some peaks, where nothing is as it is by chance."""
    which = np.resize(peaks, TUNING.relabelled_points)
    noise = np.random.default_rng(0).normal(size=(len(which), known.x.shape[1]))
    assert not isinstance(known.factors, OneForAll)  # components are looked for in few dimensions
    return np.asarray(known.x[which] + 0.5 * np.einsum("nij,nj->ni", known.factors[which], noise))


def _nearer_the_top(
    evaluate: ValueAndGradient, x: np.ndarray, factor: np.ndarray
) -> tuple[np.ndarray, float]:
    """The point after a step by curvature, if that is higher, and its height.

    The Jacobian of a simplex is not that of its image, so the top is a little beside the image.
    """
    values, gradients = evaluate(x[None])
    slope = gradients[0] @ factor
    stepped = x + factor @ slope / max(1.0, float(np.linalg.norm(slope)))
    there, _ = evaluate(stepped[None])
    return (stepped, float(there[0])) if there[0] > values[0] else (x, float(values[0]))


def _square(factor: np.ndarray) -> np.ndarray:
    return np.asarray(factor @ factor.T)


def _nearest(known: KnownPeaks, x: np.ndarray) -> int:
    """The number of the peak that a point is at, as seen in that peak's spreads."""
    offsets = [np.linalg.norm(known.whitened(x[None], peak)) for peak in range(len(known))]
    return int(np.argmin(offsets))
