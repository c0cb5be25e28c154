"""from_stan(): a Stan program and its data as a Model, compiled and evaluated by Stan itself."""

from __future__ import annotations

from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any, Literal, get_args

import jax
import jax.numpy as jnp
import numpy as np

from refti import progress as reporters
from refti.errors import ModelError, SettingsError
from refti.inputs.stan.cache import cache_place
from refti.inputs.stan.data import Data, read_data, to_json
from refti.inputs.stan.density import BatchEvaluator, PointDensity, load_batch_library
from refti.inputs.stan.library import Library
from refti.inputs.stan.origin import origin_of
from refti.inputs.stan.prior_of import (
    checked_prior,
    read_known,
    require_no_flat,
    require_prior_apart,
)
from refti.inputs.stan.program import Program, read_program
from refti.inputs.stan.solver_note import solver_note
from refti.inputs.stan.space import StanSpace
from refti.inputs.stan.split import SWITCH, with_switch
from refti.inputs.stan.toolchain import Toolchain, find_toolchain
from refti.inputs.stan.tuning import TUNING
from refti.inputs.stan.work import operations_of
from refti.models.model import Model
from refti.models.quantities import Quantities
from refti.models.recipe import Recipe, copy_arrays
from refti.progress import Progress

UniformPriors = Literal["keep", "normalise"]


def from_stan(
    program: str | Path,
    data: Data = None,
    *,
    prior: str | Path | None = None,
    check_prior: bool = True,
    split_prior: bool = False,
    uniform_priors: UniformPriors = "keep",
    modernise: bool = False,
    solver_limit: int = TUNING.solver_limit,
    progress: Progress | bool | None = None,
) -> Model:
    """The model of a Stan program with its data.

    The density is the program's own on the unconstrained scale, with the Jacobians of its
    transforms and with every constant: `y ~ normal(mu, sigma)` counts in full, exactly as
    `target += normal_lpdf(y | mu, sigma)` does. Priors must be normalised in the program: a bound
    on a parameter that its distribution does not know of needs a truncation,
    `tau ~ normal(0, 1) T[0, ];`, or a half-normal lacks its factor 2. Where the text of the program
    shows how much is missing, the result has a note that says so.

    Programs are compiled once and kept in the user's cache (REFTI_CACHE names another folder).

    Args:
        program: the path of the program, or its text.
        data: a dictionary, or the path of a JSON file or of an R dump.
        prior: a second program with the same parameters whose density is the prior alone, for
            power posteriors; refti checks that it integrates to one. Not needed if `split_prior`
            can separate the program's own prior.
        check_prior: whether to refuse a program in which a parameter has no prior. If the text does
            not show that every prior integrates to one, the program is compiled with a switch that
            turns its likelihood off, and a separate run integrates its prior. Not done if `prior`
            is given.
        split_prior: whether to separate the prior, for power posteriors: statements with data on
            their left sides are the likelihood, and the program is compiled with a switch for them.
            The prior is the rest, divided by what is known of its integral.
        uniform_priors: what to do with parameters between two bounds that have no statement:
            "keep" counts them as the program does, with a density of 1, and a note says how far
            its integral is from one; "normalise" divides by that integral.
        modernise: whether to convert a program in the syntax of Stan before 2.33 (`real y[N]`).
        solver_limit: how often one density may evaluate the right-hand sides of its differential
            equations before it is stopped and counts as rejected. Far from the data, solvers can
            take minutes, with Stan's own limit of a million steps from one time to the next. A
            result whose path reaches this limit is not trusted. BridgeStan's libraries have only
            Stan's own limit.
        progress: as in `evidence`.
    """
    flags = {"check_prior": check_prior, "split_prior": split_prior, "modernise": modernise}
    _require_settings(solver_limit, uniform_priors, flags)
    toolchain = find_toolchain()
    programs = [
        read_program(one, toolchain.stanc, modern=not modernise)
        for one in (program, prior)
        if one is not None
    ]
    values = read_data(data)
    known = [read_known(one, values) for one in programs]
    looks_at_prior = check_prior and prior is None
    if looks_at_prior:
        require_no_flat(programs[0], known[0])
    texts = [to_json(one, values) for one in programs]
    origin = origin_of(programs, data, texts, uniform_priors)
    split_prior = split_prior and prior is None
    if split_prior:
        require_prior_apart(programs[0], known[0])
    unclear = looks_at_prior and bool(known[0].priors.unclear)
    if (unclear or split_prior) and programs[0].parameters:
        programs, texts = _split(programs[0], texts[0], toolchain)
    libraries = _build_all(programs, texts, toolchain, progress)
    for library in libraries:
        library.limit_solvers(solver_limit)
    recipe = _recipe(
        program,
        prior,
        data,
        **flags,
        uniform_priors=uniform_priors,
        solver_limit=solver_limit,
    )
    if libraries[0].dim == 0:
        return _point(libraries[0], toolchain, recipe, origin)
    parameters = programs[0].code.parameters
    turned = [name for name, one in parameters.items() if one.kind == "unit_vector"]
    space = StanSpace(libraries[0], turned)
    if prior is not None:
        _require_same_parameters(programs, space, StanSpace(libraries[1]))
    evaluators = [BatchEvaluator(library) for library in libraries]
    sizes = known[0].measured(space)
    normalised = sizes.normalised(uniform_priors)
    own = None
    if len(libraries) > 1 and prior is None:
        own = checked_prior(programs[0], known[0], sizes, evaluators[1], space)
    elif len(libraries) > 1:
        of_prior = known[-1].measured(space).normalised(uniform_priors)
        own = evaluators[1].density(of_prior, sizes.unit_vectors)
    return Model.assembled(
        space,
        evaluators[0].density(normalised, sizes.unit_vectors),
        prior=own,
        source=toolchain.name,
        rejections=evaluators[0].rejections,
        limits={"solver_limit": solver_limit},
        recipe=recipe,
        origin=origin,
        notes=[*sizes.notes(uniform_priors), *solver_note(programs[0].code)],
        operations=operations_of(programs[0].code.text, texts[0], len(space.coordinates)),
    ).with_quantities(Quantities(derived=space.derived_all))


def _require_settings(solver_limit: Any, uniform_priors: Any, flags: Mapping[str, Any]) -> None:
    """Raises SettingsError if an option has a value that it cannot have."""
    if not (isinstance(solver_limit, int) and solver_limit > 0):
        raise SettingsError(f"solver_limit must be a whole number above 0; got {solver_limit!r}.")
    if uniform_priors not in get_args(UniformPriors):
        raise SettingsError(
            f"uniform_priors= must be one of {get_args(UniformPriors)}; got {uniform_priors!r}."
        )
    for name, value in flags.items():
        if not isinstance(value, bool):
            raise SettingsError(f"{name}= must be True or False; got {value!r}.")


def _split(program: Program, text: str, toolchain: Toolchain) -> tuple[list[Program], list[str]]:
    """The program and its prior alone: one that is compiled once, and two sets of data for it."""
    switched = with_switch(program, toolchain.stanc)
    texts = [_with_datum(text, SWITCH, value) for value in (1, 0)]
    return [switched, switched], texts


def _with_datum(text: str, name: str, value: int) -> str:
    start = text.rstrip().removesuffix("}")
    comma = ", " if start.strip() != "{" else ""
    return f'{start}{comma}"{name}": {value}}}'


def _point(
    library: Library, toolchain: Toolchain, recipe: Recipe, origin: Mapping[str, Any]
) -> Model:
    """The model of a program without parameters: its density is its evidence."""
    with jax.enable_x64(True):
        value = jnp.asarray(library.log_density(np.zeros(0)))
    space = StanSpace(library)
    return Model.assembled(
        space,
        PointDensity(value),
        source=toolchain.name,
        recipe=recipe,
        origin=origin,
    ).with_quantities(Quantities(derived=space.derived_all))


def _recipe(program: str | Path, prior: str | Path | None, data: Data, **settings: Any) -> Recipe:
    """How the model is made again; files are named by their whole paths."""
    kept = Path(data).resolve() if isinstance(data, str | Path) else copy_arrays(data)
    priors = {} if prior is None else {"prior": _whole_path(prior)}
    return Recipe(f"{__name__}:from_stan", (_whole_path(program), kept), {**priors, **settings})


def _whole_path(program: str | Path) -> str | Path:
    is_text = isinstance(program, str) and ("\n" in program or "{" in program)
    return program if is_text else Path(program).resolve()


def _build_all(
    programs: list[Program], data: list[str], toolchain: Toolchain, progress: Progress | bool | None
) -> list[Library]:
    """The libraries of programs, compiled or from the cache, each with its data."""
    libraries = []
    with reporters.reporting(progress) as report, ThreadPoolExecutor(1) as beside:
        native = beside.submit(load_batch_library)
        for one, text in zip(programs, data, strict=True):
            stage = f"compiling {one.name} (half a minute the first time; kept in {cache_place()})"
            begin = partial(report, stage, 0, 1)
            libraries.append(Library(toolchain.build(one, begin), text))
        native.result()
    return libraries


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
