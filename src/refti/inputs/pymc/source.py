"""PyMC: a model as it was written in PyMC, versions 5 and 6, as a refti.Model."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, Literal

import numpy as np

from refti.errors import ModelError
from refti.inputs.pymc.agreement import (
    OwnValues,
    evaluate_by_pytensor,
    find_disagreement,
    require_same_density,
)
from refti.inputs.pymc.backends import TITLES, Backend, density
from refti.inputs.pymc.by_values import by_values
from refti.inputs.pymc.constants import Correction, corrections
from refti.inputs.pymc.discrete import sum_out_discrete
from refti.inputs.pymc.faults import require_integrable, require_pymc_model
from refti.inputs.pymc.graph import Graphs, all_digits, read_graphs
from refti.inputs.pymc.normalised import prior_parts
from refti.inputs.pymc.quantities import read_quantities
from refti.inputs.pymc.space import PymcSpace
from refti.inputs.python.source import RejectionCounter
from refti.models.density import Density, ProductDensity
from refti.models.model import Model
from refti.models.quantities import Quantities
from refti.models.recipe import Recipe, freeze

BACKENDS: tuple[Backend, ...] = ("jax", "numba", "pytensor")  # in the order they are tried


def from_pymc(model: Any, *, backend: Literal["auto", "jax", "numba"] = "auto") -> Model:
    """The model of a PyMC model: its free variables, with its data as they are now.

    The prior is the density of the free variables with the Jacobians of PyMC's transforms. The
    likelihood is that of the observed variables times all potentials, whatever these were meant
    for: so the prior integrates to one, which is checked, and power posteriors temper the
    potentials together with the data. Constants of priors that PyMC is known to get wrong (those of
    LKJ priors, the share of an order) are corrected, with a warning. Discrete free variables over
    finitely many values are summed out if pymc-extras is installed.

    Before it is returned, the model is compared with PyMC's own values and their differences at a
    few points. The model's `source` says what was chosen, and why.

    Args:
        model: the pymc.Model. It is read and not changed.
        backend: "jax" if JAX has every operation of the model, "numba" otherwise. "auto" takes JAX,
            or Numba if JAX fails or its values or gradients differ from PyMC's; if Numba fails too
            it takes PyTensor's own evaluation, which is slow; and if there is no gradient, as with
            a black-box Op, the values alone.
    """
    if backend not in ("auto", "jax", "numba"):
        raise ModelError(f'backend= must be "auto", "jax" or "numba"; got {backend!r}.')
    require_pymc_model(model)
    with _quiet():
        continuous = sum_out_discrete(model)
        require_integrable(continuous)
        graphs, space, own = _read(continuous)
        with all_digits():
            mended = list(corrections(continuous))
        graphs, own = _corrected(graphs, own, sum(one.nats for one in mended))
        tried: list[str] = []
        for name in BACKENDS if backend == "auto" else (backend,):
            prior, whole, fault = _try_backend(graphs, own, name)
            if whole is not None and fault is None:
                source = _describe_source(TITLES[name], tried)
                made = Model.assembled(
                    space,
                    whole,
                    prior=prior,
                    start=graphs.start,
                    source=source,
                    **_known_prior(continuous, space),
                    notes=_notes(model),
                    **_recipe(model, backend),
                )
                return _told(made, mended, read_quantities(graphs, name))
            tried.append(f"{fault}")
        if backend == "auto":
            rejections = RejectionCounter()
            try:
                prior, values = by_values(graphs, own, rejections)
            except Exception as error:
                tried.append(f"its values alone will not do: {_first_sentence(error)}")
            else:
                made = Model.assembled(
                    space,
                    values,
                    prior=prior,
                    start=graphs.start,
                    source=_describe_source("values alone, without gradients,", tried),
                    rejections=rejections.read,
                    **_known_prior(continuous, space),
                    notes=_notes(model),
                    **_recipe(model, backend),
                )
                return _told(made, mended, read_quantities(graphs, "pytensor"))
    raise ModelError(
        "The model cannot be evaluated as PyMC evaluates it. "
        + "; ".join(tried)
        + (". Leave out backend=." if backend != "auto" else ".")
    )


def _read(model: Any) -> tuple[Graphs, PymcSpace, OwnValues]:
    """The model's graphs, its space, and what PyTensor makes of the graphs at some points.

    Raises ModelError if PyMC fails, or has another density.
    """
    try:
        graphs = read_graphs(model)
        space = PymcSpace(graphs)
        own = evaluate_by_pytensor(graphs)
        require_same_density(graphs, own)
    except ModelError:
        raise
    except Exception as error:
        if "Random variables detected" in str(error):
            raise ModelError(
                "The model draws random numbers that are no variables of it, such as "
                "pm.Normal.dist(0, 1) or pytensor's random numbers inside another variable, so "
                "its density would change from one evaluation to the next. Draw them beforehand "
                'and pass the numbers, or make them variables of the model: pm.Normal("name", '
                "0, 1)."
            ) from error
        raise ModelError(
            "PyMC gives no log density of this model: "
            f"{type(error).__name__}: {_first_sentence(error)}."
        ) from error
    return graphs, space, own


def _corrected(graphs: Graphs, own: OwnValues, nats: float) -> tuple[Graphs, OwnValues]:
    """The graphs with so much added to the log prior, and what PyTensor makes of them."""
    if not nats:
        return graphs, own
    return replace(graphs, prior=graphs.prior + nats), replace(own, values=own.values + nats)


def _try_backend(
    graphs: Graphs, own: OwnValues, backend: Backend
) -> tuple[Density | None, Density | None, str | None]:
    """The prior and the whole density by a backend, and what is wrong with it, in words."""
    title = TITLES[backend]
    try:
        prior, whole = _factors(graphs, backend)
        fault = find_disagreement(whole, own)
    except Exception as error:
        return None, None, f"{title} cannot: {_first_sentence(error) or type(error).__name__}"
    return prior, whole, fault and f"{title}'s {fault}"


def _told(made: Model, mended: list[Correction], quantities: Quantities) -> Model:
    """The model with all that is known of it, after the user was told what was put right."""
    for one in mended:
        warnings.warn(f"{one.why}.", stacklevel=3)
    return made.with_quantities(quantities)


def _notes(model: Any) -> tuple[str, ...]:
    """What a reader has to know of potentials: nothing can tell what they were meant for."""
    names = ", ".join(f'"{potential.name}"' for potential in model.potentials)
    told = (
        f"potentials count with the likelihood, so a prior written as one is not checked: {names}"
    )
    return (told,) if names else ()


def _known_prior(model: Any, space: PymcSpace) -> dict[str, Any]:
    """Why the prior is normalised, and its draws by PyMC itself, where every factor is known."""
    import pymc

    parts = prior_parts(model)

    def draws(count: int, seed: int) -> np.ndarray:
        found = pymc.draw(model.free_RVs, draws=count, random_seed=seed % 2**32)
        return space.coordinates_of(dict(zip(space.parameters, found, strict=True)))

    return {"prior_parts": parts, "prior_draws": draws if parts else None}


def _describe_source(by: str, tried: list[str]) -> str:
    """What the model is evaluated by, and why not by another."""
    import pymc

    why = f" ({'; '.join(tried)})" if tried else ""
    return f"PyMC {pymc.__version__} by {by}{why}"


def _recipe(model: Any, backend: str) -> dict[str, Any]:
    """How the model, as it is now, is made again, or why it cannot be."""
    try:
        frozen = freeze(model, "a PyMC model")
    except Exception as error:
        return {"no_recipe": f"its PyMC model cannot be sent there ({_first_sentence(error)})"}
    return {"recipe": Recipe(f"{__name__}:from_pymc", (frozen,), {"backend": backend})}


def _factors(graphs: Graphs, backend: Backend) -> tuple[Density | None, Density]:
    """The prior where there are data to set it apart from, and the whole density."""
    prior = density(graphs, graphs.prior, backend)
    if graphs.likelihood is None:
        return None, prior
    return prior, ProductDensity((prior, density(graphs, graphs.likelihood, backend)))


@contextmanager
def _quiet() -> Iterator[None]:
    """PyTensor's advice on how it might run faster is not the user's concern here."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", module="pytensor")
        warnings.filterwarnings("ignore", module="pymc")
        warnings.filterwarnings("ignore", category=UserWarning, message=".*object mode.*")
        yield


def _first_sentence(error: BaseException) -> str:
    """The first sentence of what it says."""
    lines = [line for line in str(error).splitlines() if line.strip()]
    return lines[0].strip().split(". ")[0].rstrip(".") if lines else ""
