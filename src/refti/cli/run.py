"""`refti run`: the evidence of one or more models, and how they compare."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from refti.cli.exit_codes import BAD_INPUT, STOPPED_EARLY, verdict
from refti.cli.printing import print_json, print_results, say
from refti.cli.profile import print_profiles
from refti.cli.run_options import run_options
from refti.cli.stopping import STOPPING
from refti.cli.study import executor_options, progress_option, run_study_file
from refti.cli.targets import (
    distinct_names,
    load_models,
    pair_with_data,
    require_files,
)
from refti.cli.wording import in_command_line_words
from refti.errors import RefTIError, SettingsError, StoppedEarlyError
from refti.progress import Display, duration, terminal_width

if TYPE_CHECKING:
    from refti.models.model import Model
    from refti.results.result import Evidence


@click.command()
@click.argument("targets", nargs=-1, required=True, metavar="FILE.py:MODEL|FILE.stan|STUDY.toml...")
@executor_options
@progress_option
@run_options
def run(
    targets: tuple[str, ...],
    data: tuple[Path, ...],
    prior_program: Path | None,
    solver_limit: int | None,
    uniform_priors: str,
    modernise: bool,
    store: Path | None,
    rungs: int | None,
    exponent: float | None,
    draws: tuple[Path, ...],
    checks: bool,
    profile: bool,
    different_data: bool,
    executor: str | int | None,
    workers: int | None,
    progress: str | None,
    as_json: bool,
    quiet: bool,
    **options: Any,
) -> int:
    """Estimate the evidence of one or more models, and compare them.

    A target is a Stan program, or a Python file and a name in it: a refti.Model, or a function
    without arguments that returns one. Each of several targets is kept in its own folder of
    --store, by its name, and gets its own seed, made from --seed and its name. A Stan program
    that is run with several data sets is named after the data.

    A study.toml names its own models, data and settings; its models run side by side, and a
    study that was stopped continues where it stopped.

    \b
    Examples:
      refti run model.py:model --store runs/m1
      refti run models.py:a models.py:b --target-error 0.01 --seed 1
      refti run linear.stan quadratic.stan --data data.json --max-seconds 600
      refti run model.stan --data data.json --json > result.json
    """
    if any(target.endswith(".toml") for target in targets):
        return run_study_file(
            targets,
            executor=executor,
            workers=workers,
            progress=progress,
            as_json=as_json,
            quiet=quiet,
        )
    if workers is not None or progress is not None:
        raise SettingsError("--workers and --progress are for a study.toml.")
    chosen = pair_with_data(targets, [str(file) for file in data])
    names = distinct_names(chosen)
    programs = sum(target.is_stan for target in chosen)
    _require_sense(programs, prior_program, solver_limit, rungs, exponent)
    if draws and len(names) > 1:
        raise SettingsError(f"--draws are those of one model; got {len(names)} models.")
    require_files(chosen, *draws, *([prior_program] if prior_program else []))
    folders = {name: _folder(store, name, len(names)) for name in names}
    for_stan = {"prior": prior_program, "check_prior": options["check_prior"]}
    for_stan["split_prior"] = options["path"] == "power" and prior_program is None
    for_stan |= {"uniform_priors": uniform_priors, "modernise": modernise}
    if solver_limit is not None:
        for_stan["solver_limit"] = solver_limit
    with Display(quiet=quiet) as display:
        settings = _settings(options, rungs, exponent)
        _require_usable(folders.values())
        models = dict(zip(names, load_models(chosen, display, **for_stan), strict=True))
        seeds = _seeds(settings.pop("seed"), names)
        settings["draws"] = list(draws) or None
        settings["executor"] = executor
        done = _Done()
        tell = partial(
            _tell,
            done,
            seeds,
            store,
            as_json=as_json,
            all_checks=checks,
            profile=profile,
            different_data=different_data,
        )
        STOPPING.forced = partial(_tell_forced, done, display, tell)
        _run_models(models, folders, seeds, display, settings, done)
    if not STOPPING.claim_last_word():
        threading.Event().wait()  # the main thread has lost patience, and is telling it now
    return tell()


@dataclass
class _Done:
    """What came of the models: results, the refused, the stopped, the kept, and the one at hand."""

    results: dict[str, Evidence] = field(default_factory=dict)
    refused: dict[str, str] = field(default_factory=dict)
    stopped: dict[str, dict[str, Any]] = field(default_factory=dict)
    kept: list[str] = field(default_factory=list)
    running: str = ""
    out_of_budget: int = 0  # of the stopped, which the same command would not get further

    @property
    def code(self) -> int:
        """The exit code: the gravest of what happened."""
        if self.refused:
            return BAD_INPUT
        if self.stopped or any(r.found.get("ended") for r in self.results.values()):
            return STOPPED_EARLY
        return verdict(all(result.trusted for result in self.results.values()))


def _require_sense(
    programs: int,
    prior_program: Path | None,
    solver_limit: int | None,
    rungs: int | None,
    exponent: float | None,
) -> None:
    """Raises SettingsError if options need others, or Stan programs, that are not there."""
    if exponent is not None and rungs is None:
        raise SettingsError("--exponent says how --rungs are spaced; give --rungs as well.")
    for_programs = {"--prior-program": prior_program, "--solver-limit": solver_limit}
    for option, value in for_programs.items():
        if value is not None and not programs:
            raise SettingsError(f"{option} is for Stan programs; got none.")


def _settings(
    options: Mapping[str, Any], rungs: int | None, exponent: float | None
) -> dict[str, Any]:
    """The settings of refti.evidence, seen to be right before any model is loaded."""
    import refti

    _ = refti.evidence  # by its public name, so that the time that importing takes is told
    from refti.run.settings import Settings

    settings = {name: value for name, value in options.items() if value is not None}
    power = 1.0 if exponent is None else exponent
    settings["ladder"] = None if rungs is None else refti.power(rungs, power)
    Settings(**settings)
    return settings


def _require_usable(folders: Iterable[Path | None]) -> None:
    """Raises StoreError if a run cannot be kept in a folder, before any model is loaded."""
    from refti.run.store.directory import require_usable

    for folder in folders:
        if folder is not None:
            require_usable(folder)


def _folder(store: Path | None, name: str, models: int) -> Path | None:
    return store if store is None or models == 1 else store / name


def _seeds(seed: int, names: list[str]) -> dict[str, int]:
    """The seed of every model: the one given for one alone, and one of its own for each of many."""
    from refti.run.seeds import seed_of_model

    return {names[0]: seed} if len(names) == 1 else {n: seed_of_model(seed, n) for n in names}


def _run_models(
    models: dict[str, Model],
    folders: Mapping[str, Path | None],
    seeds: Mapping[str, int],
    display: Display,
    settings: Mapping[str, Any],
    done: _Done,
) -> None:
    """Runs one model after the other, until all are done or somebody says stop."""
    import refti
    from refti.checks.ended import Ended

    for name, model in models.items():
        done.running = name
        display.begin(name if len(models) > 1 else "")
        try:
            result = refti.evidence(
                model, store=folders[name], seed=seeds[name], progress=display, **settings
            )
        except (KeyboardInterrupt, StoppedEarlyError) as error:
            done.stopped[name] = _stop(error, display, kept=folders[name] is not None)
            if isinstance(error, KeyboardInterrupt):
                break
            done.out_of_budget += 1
            continue
        except (refti.ModelError, refti.ReferenceFitError, refti.SamplingError) as error:
            if len(models) == 1:
                raise
            done.refused[name] = in_command_line_words(str(error))  # may not cost the others
            continue
        done.results[name] = result
        if result.found.get("ended") == Ended.INTERRUPTED.value:
            break
        done.kept.append(name)


def _tell_forced(done: _Done, display: Display, tell: Callable[[], int]) -> int:
    """Prints what there is while a run goes on that did not stop in time."""
    done.stopped[done.running] = _stop(KeyboardInterrupt(), display)
    display.clear()
    return tell()


def _stop(
    error: KeyboardInterrupt | RefTIError, display: Display, *, kept: bool = False
) -> dict[str, Any]:
    """What is told of a run that was stopped before it had a result."""
    how, advice = "Stopped", ""
    if not isinstance(error, KeyboardInterrupt):
        how, advice = "Its budget was spent", " Raise --max-seconds or --max-evaluations"
        # A folder belongs to the settings of its run.
        advice += ", and choose another --store." if kept else "."
    after = f"after {duration(display.seconds)}, while {display.stage}"
    found = f"the estimate was {display.estimate}" if display.estimate else "no estimate yet"
    return {
        "stage": display.stage,
        "seconds": display.seconds,
        "estimate": display.estimate or None,
        "message": f"{how} {after}: {found}.{advice}",
    }


def _tell(
    done: _Done,
    seeds: Mapping[str, int],
    store: Path | None,
    *,
    as_json: bool,
    all_checks: bool,
    profile: bool,
    different_data: bool,
) -> int:
    """Prints what came of the models; returns the exit code."""
    import refti
    from refti.results.text import printable

    table, not_ranked = None, ""
    try:
        if len(done.results) > 1:
            table = refti.compare(done.results, different_data=different_data)
    except refti.CompareError as error:  # may not cost the results that are there
        not_ranked = in_command_line_words(str(error))
    if as_json:
        record: dict[str, Any] = {"results": {n: r.to_dict() for n, r in done.results.items()}}
        record |= {"comparison": table.to_dict()} if table else {}
        record |= {"not_ranked": not_ranked} if not_ranked else {}
        record |= {"refused": done.refused} if done.refused else {}
        record |= {"stopped": done.stopped} if done.stopped else {}
        print_json(record | {"seeds": dict(seeds), "exit_code": done.code})
    else:
        print_results(done.results, table, all_checks=all_checks)
        if profile:
            print_profiles(done.results, terminal_width(sys.stdout))
    if not_ranked:
        say(f"Not ranked. {not_ranked}")
    for name, message in done.refused.items():
        say(f"{printable(name)}: {message}")
    for name, stop in done.stopped.items():
        say(f"{printable(name)}: {stop['message']}")
    if len(seeds) > 1 and not as_json:
        say("Each model has its own random numbers, made from --seed and its name.")
    if store is not None and done.kept:
        which = f": {', '.join(map(printable, done.kept))}" if len(seeds) > 1 else ""
        say(f"Kept in {store}{which}.")
    ended = len(done.kept) + len(done.refused) + done.out_of_budget
    if store is not None and ended < len(seeds):
        say(f"Not finished in {store}: run the same command again to continue.")
    return done.code
