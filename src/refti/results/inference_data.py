"""A result as ArviZ takes it: posterior, sample_stats, log_likelihood, observed_data."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from refti.errors import ModelError

if TYPE_CHECKING:
    import xarray


def to_inference_data(posterior: xarray.Dataset, groups: Mapping[str, xarray.Dataset]) -> Any:
    """An InferenceData of ArviZ; an xarray DataTree where ArviZ has none of its own any more.

    Raises ModelError if ArviZ is not installed.
    """
    try:
        import arviz
    except ImportError as missing:
        raise ModelError(
            "to_inference_data() needs the package arviz, which is not installed. Run pip "
            "install arviz, or use result.posterior, which is an xarray Dataset."
        ) from missing
    everything: dict[str, Any] = {"posterior": posterior, **groups}
    if hasattr(arviz, "InferenceData"):
        return arviz.InferenceData(**everything)
    import xarray

    return xarray.DataTree.from_dict(everything)
