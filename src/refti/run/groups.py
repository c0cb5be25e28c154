"""Groups: posterior draws by the user's names, and what the model's language tells of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial

import numpy as np

from refti.models.model import Model
from refti.models.quantities import ByName
from refti.results.late import LateDataset, NamedArrays
from refti.run.tuning import GROUPS
from refti.sampling.metering import Meter


@dataclass(frozen=True)
class Groups:
    """What a result keeps of the draws of the posterior.

    Attributes:
        posterior: parameters, and what is derived from them.
        others: groups beside it by ArviZ's names.
        left_out: what was not kept, and why, in words, by name.
    """

    posterior: LateDataset
    others: Mapping[str, LateDataset]
    left_out: Mapping[str, str]


def gather_groups(model: Model, x: np.ndarray, meter: Meter) -> Groups:
    """The groups of draws x[chain, draw, dim] of a model, in its own coordinates."""
    known, left_out = model.quantities, dict[str, str]()
    form = partial(NamedArrays, dims=known.dims, coords=known.coords)
    drawn = partial(form, lead=("chain", "draw"))
    values = dict(model.space.constrain_all(x.reshape(x.shape[0] * x.shape[1], x.shape[2])))
    values |= _evaluate(known.derived, x, "derived values", left_out, besides=values)
    others: dict[str, LateDataset] = {}
    each = _evaluate(known.log_likelihoods, x, "log_likelihood", left_out)
    if each:
        others["log_likelihood"] = drawn(_by_chain(each, x))
    if each and model.has_gradient:
        meter.count(densities=x.shape[0] * x.shape[1])
        heights = model.log_densities(x.reshape(x.shape[0] * x.shape[1], x.shape[2]))
        others["sample_stats"] = drawn(_by_chain({"lp": heights}, x))
    if known.observed:
        others["observed_data"] = form(known.observed)
    return Groups(drawn(_by_chain(values, x)), others, left_out)


def _evaluate(
    function: ByName | None,
    x: np.ndarray,
    what: str,
    left_out: dict[str, str],
    besides: Mapping[str, np.ndarray] | None = None,
) -> dict[str, np.ndarray]:
    """The values of a function at all draws, without those that there are already.

    A model may derive more numbers than there is memory for, or fail to derive them: neither may
    cost the evidence that is there by now.
    """
    if function is None:
        return {}
    points = x.reshape(x.shape[0] * x.shape[1], x.shape[2])
    try:
        sizes = {name: value[0].size for name, value in function(points[:1]).items()}
        if sum(sizes.values()) * len(points) > GROUPS.most_numbers:
            left_out[what] = (
                f"{sum(sizes.values()):,} numbers for each of {len(points):,} draws are too many "
                "to keep; ask for fewer with posterior_draws="
            )
            return {}
        values = function(points)
    except Exception as error:
        left_out[what] = f"they could not be computed ({type(error).__name__}: {error})"
        return {}
    return {name: value for name, value in values.items() if name not in (besides or {})}


def _by_chain(values: Mapping[str, np.ndarray], x: np.ndarray) -> dict[str, np.ndarray]:
    return {name: value.reshape(*x.shape[:2], *value.shape[1:]) for name, value in values.items()}
