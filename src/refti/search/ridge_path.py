"""Ridge paths: whether a way that follows a ridge leads from one peak to another without a dip.

Climbs on a ring, a shell or a spiral end on ever new bumps of one ridge, and the straight way
between two of them leaves it.
"""

from __future__ import annotations

import numpy as np

from refti.models.model import ValueAndGradient
from refti.search.climb import climb_together
from refti.search.tuning import TUNING


def is_joined(evaluate: ValueAndGradient, a: np.ndarray, b: np.ndarray, scales: np.ndarray) -> bool:
    """Whether some way from peak a to peak b has no dip between the two.

    The way begins as the straight one. Where it dips, its middle climbs, but not towards either
    end, and both halves are looked at again. So what is joined is so by a way that was seen.

    Args:
        evaluate: the density and its gradient.
        a: the one peak.
        b: the other.
        scales: `[dim]`, of about the widths of both, in which climbers take their steps.
    """
    nodes = np.stack([a, b])
    floor = float(evaluate(nodes)[0].min()) - TUNING.dip
    for _ in range(TUNING.ridge_turns):
        dips = _segments_below(evaluate, nodes, floor)
        if not dips.any():
            return True
        middles, heights = _climb_across(evaluate, nodes[:-1][dips], nodes[1:][dips], scales)
        if not (heights >= floor).all():
            return False
        nodes = np.insert(nodes, np.flatnonzero(dips) + 1, middles, axis=0)
        if len(nodes) > TUNING.ridge_nodes:
            return False
    return not _segments_below(evaluate, nodes, floor).any()


def _segments_below(evaluate: ValueAndGradient, nodes: np.ndarray, floor: float) -> np.ndarray:
    """Whether [segment] the density falls below the floor between neighbouring nodes[n, dim]."""
    steps = np.linspace(0, 1, TUNING.ridge_points + 2)[1:-1, None, None]
    points = nodes[:-1] + steps * np.diff(nodes, axis=0)
    values, _ = evaluate(points.reshape(-1, nodes.shape[1]))
    return np.asarray(~(values.reshape(len(steps), -1).min(axis=0) >= floor))


def _climb_across(
    evaluate: ValueAndGradient, a: np.ndarray, b: np.ndarray, scales: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Where the middles of segments from a[n, dim] to b[n, dim] climb to across them, how high."""
    ends, heights = np.empty_like(a), np.empty(len(a))
    for index in range(len(a)):
        along = (b[index] - a[index]) / scales
        along /= np.linalg.norm(along)

        def across(x: np.ndarray, along: np.ndarray = along) -> tuple[np.ndarray, np.ndarray]:
            values, gradients = evaluate(x)
            slopes = gradients * scales
            return values, (slopes - (slopes @ along)[:, None] * along) / scales

        climbed = climb_together(
            across,
            0.5 * (a[index] + b[index])[None],
            factor=np.diag(scales),
            iterations=TUNING.ridge_steps,
        )
        ends[index], heights[index] = climbed.x[0], climbed.values[0]
    return ends, heights
