"""evidence() and log_bayes_factor(): from a model to its result, one call each."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path as FilePath
from typing import Any, TypeVar, cast

import numpy as np

from refti.inputs.as_model import as_model
from refti.inputs.posterior.formats import Posterior
from refti.inputs.posterior.unconstrain import unconstrain_draws
from refti.models.model import Model
from refti.progress import Progress
from refti.references.registry import FAMILIES
from refti.results.result import Evidence, LogRatio
from refti.run.one_run import find_result
from refti.run.problem import Problem
from refti.run.settings import EstimatorName, PathName, ReferenceLike, Settings
from refti.run.suitability import adapted_to_models, require_fitting_stations
from refti.run.witness import require_witness
from refti.sampling.computing import computing
from refti.sampling.kernels.registry import KERNELS
from refti.search.searched import Effort

Function = TypeVar("Function", bound=Callable[..., object])
ModelLike = Model | Any
"""A refti.Model, a PyMC or Bambi model, or a function of NumPyro statements."""


def _documented(function: Function) -> Function:
    """The function with the families and kernels there are in its docstring."""
    families, kernels = (
        "\n            ".join(f'- "{name}": {row.summary};' for name, row in table.items())
        for table in (FAMILIES, KERNELS)
    )
    if function.__doc__ is not None:  # as it is under python -OO
        function.__doc__ = function.__doc__.format(families=families, kernels=kernels)
    return function


@_documented
def evidence(
    model: ModelLike,
    *,
    args: Sequence[Any] | Mapping[str, Any] | None = None,
    reference: ReferenceLike = Settings.reference,
    path: PathName = Settings.path,
    ladder: Sequence[float] | np.ndarray | None = Settings.ladder,
    estimator: EstimatorName = Settings.estimator,
    target_error: float = Settings.target_error,
    seed: int = Settings.seed,
    max_seconds: float | None = Settings.max_seconds,
    max_evaluations: int = Settings.max_evaluations,
    chains: int = Settings.chains,
    warmup: int | None = Settings.warmup,
    kept: int | None = Settings.kept,
    kernel: str = Settings.kernel,
    check_prior: bool = Settings.check_prior,
    witness: bool = Settings.witness,
    search: Effort | int = Settings.search,
    posterior_draws: int | None = Settings.posterior_draws,
    data_name: str | None = Settings.data_name,
    draws: Posterior | None = None,
    store: str | FilePath | None = None,
    executor: Any = None,
    progress: Progress | bool | None = None,
) -> Evidence:
    """The log evidence of a model, with its error and a verdict on whether to trust it.

    Args:
        model: the density to integrate: a refti.Model, or a model of PyMC or Bambi, or a function
            of NumPyro statements.
        args: the arguments of a NumPyro function, such as the data: a tuple, or a dictionary by
            name.
        reference: where the path starts. "auto" fits several families and takes the one that
            is nearest to the posterior. Or give a Reference; a list (telescopic path) that
            continues with orders of Taylor expansion at the mode (4, 6, 8, 10) or with other
            models; or a family by its name:
            {families}
        path: "referenced", or "power" for power posteriors (from the prior).
        ladder: values of lambda from 0 to 1, the same for every leg; placed where they are
            needed if not given.
        estimator: which estimate becomes the result; the others are kept beside it.
        target_error: the error, in nats, at which sampling stops; a result with a larger error
            is called less precise than asked.
        seed: of all random numbers.
        max_seconds: the time after which the run stops early, with what it has.
        max_evaluations: the number of evaluations, gradients and densities together, after which
            it stops early.
        chains: Markov chains for each rung; more if there are more modes, one for each.
        warmup: iterations of each chain that adapt it and are thrown away; a few hundred if not
            given.
        kept: draws of each chain that are kept; if not given, as many as the target error needs.
        kernel: how chains move. Models without gradients always get "elliptical", and "hmc" is
            replaced by it where the density jumps and slices are much cheaper:
            {kernels}
        check_prior: whether to check, in a separate run, that the prior integrates to one,
            where it is known separately from the likelihood.
        witness: whether to make a second estimate in an independent way, from the prior if that is
            known separately and from a wide Student-t otherwise; the result is not trusted if
            the two disagree.
        search: how hard to look for other modes: "quick", "default" (about what the cheapest run
            costs), "thorough" (ten times that), or a number of evaluations.
            `found["search"]` says what it may have missed.
        posterior_draws: how many draws the result's posterior has, rounded up to a multiple of the
            chains; as many as the estimate took, some hundred or more, if not given.
        data_name: a name for the data; `compare` does not rank results of different data.
        draws: posterior draws that you already have, used in place of a pilot run: a
            dictionary of arrays by parameter name, [chain, draw, ...] or [draw, ...]; an
            InferenceData of ArviZ, or an xarray DataTree, with a group "posterior"; an xarray
            Dataset; a netCDF file (.nc) of these; or CSV files of CmdStan, one per chain. Variables
            that are not parameters are ignored.
        store: a directory to keep the run in, block by block. Whatever stops it, the same call
            continues where it stopped, with the same bits; a finished run, or one whose budget was
            spent, is read from there. Another model, data, seed or setting is refused.
        executor: where to run rungs side by side, if their blocks cost enough to be worth
            sending: "loky" for processes of this machine, "dask" or the address of a scheduler,
            a Dask client, or any `concurrent.futures.Executor`; in this process if not given.
            The bits are the same.
        progress: True or False to show progress or not, or a function of (stage, done, total) to
            call; shown on a terminal if not given.

    Returns:
        The result. `log_z`, `error` (both in nats) and `interval(0.95)` are the number; `trusted`
        and `checks` say whether to rely on it and why; `estimates` holds the other estimators,
        `posterior` the posterior draws, `rungs` the rungs of the path, `found` what the run chose
        and found, `cost` what it took. `save(folder)` keeps it, `refti.load` reads it back, and
        `refti.compare` ranks several.

    Raises:
        ModelError: the model cannot have an evidence, or cannot be evaluated.
        SettingsError: an argument has a value that it cannot have.
        StoppedEarlyError: the budget was spent before there was a first estimate.
        StoreError: `store` holds another run, or cannot be used.

    Example:
        >>> result = refti.evidence(model, target_error=0.05, seed=1)
        >>> print(result)
    """
    settings = Settings(
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
        max_seconds=max_seconds,
        max_evaluations=max_evaluations,
        check_prior=check_prior,
        witness=witness,
        search=search,
        posterior_draws=posterior_draws,
        data_name=data_name,
    )
    model = as_model(model, args)
    settings = adapted_to_models(settings, [model])
    with computing():
        problem = Problem(Evidence, (model,), settings)
        _ = problem.known_path  # raises where there is none of the kind that is wanted
        require_fitting_stations(model, settings)
        require_witness(model, settings)
        if draws is not None:
            users, count = unconstrain_draws(model, draws)
            problem = replace(problem, posterior_draws=users, posterior_chains=count)
        return cast(Evidence, find_result(problem, store, progress, executor))


def log_bayes_factor(
    model_a: ModelLike,
    model_b: ModelLike,
    *,
    ladder: Sequence[float] | np.ndarray | None = Settings.ladder,
    estimator: EstimatorName = Settings.estimator,
    target_error: float = Settings.target_error,
    seed: int = Settings.seed,
    max_seconds: float | None = Settings.max_seconds,
    max_evaluations: int = Settings.max_evaluations,
    chains: int = Settings.chains,
    warmup: int | None = Settings.warmup,
    kept: int | None = Settings.kept,
    kernel: str = Settings.kernel,
    search: Effort | int = Settings.search,
    store: str | FilePath | None = None,
    executor: Any = None,
    progress: Progress | bool | None = None,
) -> LogRatio:
    """log z_a - log z_b by a direct path between two models of one dimension (model switch).

    The arguments are those of `evidence`.
    """
    settings = Settings(
        ladder=ladder,
        estimator=estimator,
        target_error=target_error,
        seed=seed,
        chains=chains,
        warmup=warmup,
        kept=kept,
        kernel=kernel,
        max_seconds=max_seconds,
        max_evaluations=max_evaluations,
        check_prior=False,
        search=search,
    )
    models = as_model(model_a), as_model(model_b)
    settings = adapted_to_models(settings, models)
    problem = Problem(LogRatio, models, settings)
    _ = problem.known_path  # raises where the two cannot be joined
    with computing():
        return cast(LogRatio, find_result(problem, store, progress, executor))
