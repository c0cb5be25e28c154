"""from_stan(): a Stan program and its data as a Model, compiled and evaluated by Stan itself."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import jax

from refti import progress as reporters
from refti.errors import ModelError, SettingsError
from refti.inputs.stan.data import Data, to_json
from refti.inputs.stan.density import BatchEvaluator, load_batch_library
from refti.inputs.stan.library import Library
from refti.inputs.stan.program import Program, read_program
from refti.inputs.stan.space import StanSpace
from refti.inputs.stan.toolchain import Toolchain, find_toolchain
from refti.inputs.stan.tuning import TUNING
from refti.models.model import Model
from refti.models.recipe import Recipe, copy_arrays
from refti.progress import Progress


def from_stan(
    program: str | Path,
    data: Data = None,
    *,
    prior: str | Path | None = None,
    check_prior: bool = True,
    solver_limit: int = TUNING.solver_limit,
    progress: Progress | bool | None = None,
) -> Model:
    """The model of a Stan program with its data.

    The density is the program's own on the unconstrained scale, with the Jacobians of its
    transforms and with every constant: `y ~ normal(mu, sigma)` counts in full, exactly as
    `target += normal_lpdf(y | mu, sigma)` does. It is the priors' business to be normalised: a
    bound on a parameter that its distribution does not know of needs a truncation,
    `tau ~ normal(0, 1) T[0, ];`, or a half-normal lacks its factor 2.

    Programs are compiled once and kept in the user's cache (REFTI_CACHE names another folder).

    Args:
        program: the path of the program, or its text.
        data: a dictionary, or the path of a JSON file.
        prior: a second program with the same parameters whose density is the prior alone, for
            power posteriors; it is seen to integrate to one. A program cannot be taken apart.
        check_prior: whether a program is refused in which a parameter seems to have no prior;
            not done where `prior` is given.
        solver_limit: how often one density may ask for the right-hand sides of its differential
            equations before it is stopped and counts as rejected. Far from the data solvers crawl,
            for minutes by Stan's own limit of a million steps from one time to the next. A result
            whose path meets this limit is not trusted. BridgeStan's libraries have only Stan's own.
        progress: as in `evidence`.
    """
    if not (isinstance(solver_limit, int) and solver_limit > 0):
        raise SettingsError(f"solver_limit must be a whole number above 0; got {solver_limit!r}.")
    toolchain = find_toolchain()
    programs = [read_program(p, toolchain.stanc) for p in (program, prior) if p is not None]
    if check_prior and prior is None:
        _require_priors(programs[0])
    texts = [to_json(one, data) for one in programs]
    libraries = _build_all(programs, texts, toolchain, progress)
    for one, library in zip(programs, libraries, strict=True):
        if library.dim == 0:
            raise ModelError(f"{one.name} has no parameters with these data (all of size zero).")
        library.limit_solvers(solver_limit)
    space = StanSpace(libraries[0])
    if len(libraries) > 1:
        _require_same_parameters(programs, space, StanSpace(libraries[1]))
    with jax.enable_x64(True):
        evaluators = [BatchEvaluator(library) for library in libraries]
        densities = [evaluator.density() for evaluator in evaluators]
    return Model.assembled(
        space,
        densities[0],
        prior=densities[1] if len(densities) > 1 else None,
        source=toolchain.name,
        rejections=evaluators[0].rejections,
        limits={"solver_limit": solver_limit},
        recipe=_recipe(programs, data, check_prior=check_prior, solver_limit=solver_limit),
    )


def _recipe(programs: list[Program], data: Data, **settings: int) -> Recipe:
    """How the model is made again; files are named by their whole paths."""
    texts = [one.text if one.folder is None else one.folder / one.name for one in programs]
    kept = Path(data).resolve() if isinstance(data, str | Path) else copy_arrays(data)
    prior = {"prior": texts[1]} if len(texts) > 1 else {}
    return Recipe(f"{__name__}:from_stan", (texts[0], kept), {**prior, **settings})


def _build_all(
    programs: list[Program], data: list[str], toolchain: Toolchain, progress: Progress | bool | None
) -> list[Library]:
    """The libraries of programs, compiled or from the cache, each with its data."""
    libraries = []
    with reporters.reporting(progress) as report, ThreadPoolExecutor(1) as beside:
        native = beside.submit(load_batch_library)
        for one, text in zip(programs, data, strict=True):
            begin = partial(report, f"compiling {one.name} (half a minute the first time)", 0, 1)
            libraries.append(Library(toolchain.build(one, begin), text))
        native.result()
    return libraries


def _require_priors(program: Program) -> None:
    """Raises ModelError if a parameter seems to have no prior."""
    if program.improper:
        names = ", ".join(program.improper)
        raise ModelError(
            f"{program.name} gives no prior to {names}. A flat prior over an unbounded range is "
            "improper, and with it the evidence does not exist. Add a proper prior for each, such "
            "as `mu ~ normal(0, 10);`. If the program has one in a form that was not recognised, "
            "give prior=, a program of the prior alone, which is seen to integrate to one, or say "
            "check_prior=False."
        )


def _require_same_parameters(programs: list[Program], one: StanSpace, other: StanSpace) -> None:
    """Raises ModelError if the two programs have other parameters."""
    if dict(one.parameters) == dict(other.parameters) and one.coordinates == other.coordinates:
        return
    described = [
        f"{program.name} has {', '.join(f'{n}{list(p.shape)}' for n, p in s.parameters.items())}"
        for program, s in zip(programs, (one, other), strict=True)
    ]
    raise ModelError(
        "prior= must be a program with the same parameters, in the same order; "
        + "; ".join(described)
        + "."
    )
