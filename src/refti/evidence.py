"""evidence() and log_bayes_factor(): from a model to its result, one call each."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path as FilePath
from typing import Any

import jax
import numpy as np

from refti import path as paths
from refti import progress as reporters
from refti import settings as options
from refti.cost import Meter
from refti.errors import SettingsError
from refti.explore import unconstrained_draws
from refti.model import Model
from refti.path import Path
from refti.pipeline import Kind, Pipeline
from refti.progress import Progress
from refti.references import fit
from refti.result import Evidence, LogRatio
from refti.run import store as stores
from refti.sampling.kernel import KernelName
from refti.scope import computing
from refti.settings import ReferenceLike, Settings


def evidence(
    model: Model,
    *,
    reference: ReferenceLike = "auto",
    path: options.PathName = "referenced",
    ladder: Sequence[float] | np.ndarray | None = None,
    estimator: options.EstimatorName = "mbar",
    target_error: float = 0.05,
    seed: int = 0,
    chains: int = 4,
    warmup: int = 1000,
    kept: int = 1000,
    kernel: KernelName = "hmc",
    draws: Mapping[str, Any] | None = None,
    store: str | FilePath | None = None,
    progress: Progress | bool | None = None,
) -> Evidence:
    """The log evidence of a model, with its error and a verdict on whether to trust it.

    Args:
        model: the density to integrate.
        reference: where the path starts: "laplace", "covariance", "diagonal", "variational",
            "variational_diagonal", "truncated", a Reference, or a list (telescopic path) that
            goes on with orders of Taylor expansion at the mode (4, 6, ...) or with other models.
            "auto" is at present the sampled covariance.
        path: "referenced", or "power" for power posteriors (from the prior).
        ladder: values of lambda from 0 to 1, the same for every leg.
        estimator: whose value and error the result gives; the others stand beside it.
        target_error: the error in nats above which the result is not trusted.
        seed: all randomness comes from this number.
        chains: Markov chains a rung.
        warmup: iterations of each chain that adapt it and are thrown away.
        kept: draws of each chain that are kept.
        kernel: "hmc" or "nuts".
        draws: posterior draws by parameter name, [chain, draw, ...] or [draw, ...], which take
            the place of the pilot's.
        store: a directory to keep the run in; a finished run of the same model and settings is
            read from it instead of sampled again.
        progress: True or False to show progress or not, or a function of (stage, done, total);
            shown on a terminal if not given.
    """
    asked = options.checked(
        reference=reference,
        path=path,
        ladder=ladder,
        estimator=estimator,
        target_error=target_error,
        seed=seed,
        chains=chains,
        warmup=warmup,
        kept=kept,
        kernel=kernel,
    )
    _expect_model(model)
    with computing():
        power = paths.power_posteriors(model) if asked.path == "power" else None
        _check_stations(model, asked)
        given = None if draws is None else unconstrained_draws(model, draws)

        def route(run: Pipeline) -> tuple[Path, np.ndarray]:
            if power is not None:
                return run.from_prior(model, power, given)
            return run.referenced(model, given)

        return _run(Evidence, [model], route, asked, given, store, progress)


def log_bayes_factor(
    model_a: Model,
    model_b: Model,
    *,
    ladder: Sequence[float] | np.ndarray | None = None,
    estimator: options.EstimatorName = "mbar",
    target_error: float = 0.05,
    seed: int = 0,
    chains: int = 4,
    warmup: int = 1000,
    kept: int = 1000,
    kernel: KernelName = "hmc",
    store: str | FilePath | None = None,
    progress: Progress | bool | None = None,
) -> LogRatio:
    """log z_a - log z_b by a direct path between two models of one dimension (model switch).

    The arguments are those of `evidence`; the ladder is uniform if not given.
    """
    asked = options.checked(
        reference="auto",
        path="referenced",
        ladder=np.linspace(0.0, 1.0, 11) if ladder is None else ladder,
        estimator=estimator,
        target_error=target_error,
        seed=seed,
        chains=chains,
        warmup=warmup,
        kept=kept,
        kernel=kernel,
    )
    _expect_model(model_a)
    _expect_model(model_b)
    whole = paths.model_switch(model_a, model_b)
    models = [model_a, model_b]
    with computing():
        return _run(
            LogRatio, models, lambda run: run.between(models, whole), asked, None, store, progress
        )


def _run(
    kind: type[Kind],
    models: Sequence[Model],
    route: Callable[[Pipeline], tuple[Path, np.ndarray]],
    asked: Settings,
    given: np.ndarray | None,
    store: str | FilePath | None,
    progress: Progress | bool | None,
) -> Kind:
    """The result of a run, read from its directory if it is finished there."""
    with reporters.reporting(progress) as report:
        run = Pipeline(asked, Meter(), report)
        if store is None:
            return run.conclude(kind, models[0], *route(run))
        identity = stores.identify(kind, models, asked, given)
        finished = stores.find_finished(store, kind, identity)
        if finished is not None:
            return finished
        path_and_pool = route(run)
        stores.begin(store, identity)
        result = run.conclude(kind, models[0], *path_and_pool)
        result.save(store)
        return result


def _check_stations(model: Model, asked: Settings) -> None:
    first, *rest = asked.stations
    if first == "truncated":
        fit.bounds(model)
    elif not isinstance(first, str):
        _check_reference(first, model.dim)
    for station in rest:
        if isinstance(station, Model) and station.dim != model.dim:
            raise SettingsError(
                "A density between the reference and the posterior must have the model's "
                f"dimension; got {station.dim} and {model.dim}."
            )


def _check_reference(reference: Any, dim: int) -> None:
    name = type(reference).__name__
    if jax.tree_util.all_leaves([reference]):
        raise SettingsError(
            f"A reference must be a JAX pytree, so that its numbers can be told from its program; "
            f"{name} is none. Register it with jax.tree_util.register_dataclass."
        )
    point = jax.ShapeDtypeStruct((dim,), np.float64)
    try:
        density = jax.eval_shape(lambda r, x: r.log_density(x), reference, point)
        draw = jax.eval_shape(lambda r, key: r.sample(key), reference, jax.random.key(0))
    except Exception as error:
        raise SettingsError(
            f"The reference {name} does not work in the model's dimension, {dim}: {error}"
        ) from error
    if density.shape != () or draw.shape != (dim,):
        raise SettingsError(
            f"The reference {name} must give one log density and draws of shape ({dim},); got "
            f"shapes {density.shape} and {draw.shape}."
        )


def _expect_model(model: object) -> None:
    if not isinstance(model, Model):
        raise SettingsError(
            f"Expected a refti.Model; got {type(model).__name__}. Make one with "
            "refti.Model(log_density, dim=...)."
        )
