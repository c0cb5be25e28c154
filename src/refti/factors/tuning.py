"""The numbers that say which matrices are dense, and what the others may hold."""

from __future__ import annotations

from dataclasses import dataclass

from refti.tuning import tuned


@dataclass(frozen=True)
class FactorTuning:
    """Sizes of matrices."""

    all_dense: int = tuned(
        500,
        "dimensions up to which every matrix is dense: 2 MB, factored in 20 ms. Beyond, curvature "
        "that is sparse is found by some hundred gradients instead of two for every dimension",
    )
    densest: int = tuned(
        1500,
        "dimensions beyond which no dense matrix is made: 18 MB each, and their factoring, which "
        "grows with the cube, takes longer than all else",
    )
    least_block: int = tuned(
        32, "rows of a block: a solve goes block by block, and smaller ones cost as much each"
    )
    widest_band: int = tuned(256, "beside the diagonal; 80 MB in 10,000 dimensions")
    widest_border: int = tuned(128, "parameters that all others may hang together with")
    largest_rank: int = tuned(24, "directions that stand out of draws, which every move costs")
    draws_of_before: int = tuned(
        50, "draws that a coordinate's width so far counts as, when it is learned again"
    )
    least_width: float = tuned(1e-3, "of what the curvature says that draws may take a width to")


TUNING = FactorTuning()
