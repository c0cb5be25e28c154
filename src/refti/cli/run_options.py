"""The options of `refti run`: those of refti.evidence, in the words of the command line."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from refti.cli.choices import NameOption, Names, efforts, estimators, families, kernels, paths

A_FILE = click.Path(path_type=Path, dir_okay=False)

OPTIONS = (
    click.option(
        "--data",
        multiple=True,
        type=A_FILE,
        metavar="FILE",
        help="Data of Stan programs, as JSON or an R dump: one file for all, or one for each, in "
        "their order.",
    ),
    click.option(
        "--prior-program",
        type=A_FILE,
        metavar="FILE",
        help="A Stan program with the prior alone, for --path power and to check that the prior "
        "integrates to one. If not given, the program's statements about parameters alone are "
        "taken as its prior.",
    ),
    click.option(
        "--solver-limit",
        type=click.IntRange(min=1),
        metavar="COUNT",
        help="At most so many evaluations of the right-hand side of differential equations, for "
        "each density of a Stan program.",
    ),
    click.option(
        "--uniform-priors",
        type=click.Choice(["keep", "normalise"]),
        default="keep",
        show_default=True,
        help="For parameters of a Stan program that have two bounds and no prior statement: keep "
        "their density of 1, or normalise it so that it integrates to one.",
    ),
    click.option(
        "--modernise",
        is_flag=True,
        help="Convert Stan programs written for Stan before 2.33, with arrays such as real y[N].",
    ),
    click.option(
        "--store",
        type=click.Path(path_type=Path, file_okay=False),
        metavar="FOLDER",
        help="Folder to keep the run in. A run that has finished there is read, not repeated. With "
        "several models, each has its own folder inside.",
    ),
    click.option(
        "--reference",
        cls=NameOption,
        type=Names(families),
        default="auto",
        show_default=True,
        help="Where the path starts.",
    ),
    click.option(
        "--path",
        type=Names(paths),
        default="referenced",
        show_default=True,
        help="Start from a reference, or from the prior by powers of the likelihood.",
    ),
    click.option(
        "--rungs",
        type=click.IntRange(min=2),
        metavar="COUNT",
        help="Number of rungs, spaced by --exponent. If not given, they are placed where needed.",
    ),
    click.option(
        "--exponent",
        metavar="NUMBER",
        type=click.FloatRange(min=0, min_open=True),
        help="Spacing of --rungs: (k/n) to this power; uniform if not given.",
    ),
    click.option(
        "--estimator",
        type=Names(estimators),
        default="mbar",
        show_default=True,
        help="How the evidence is computed from the draws.",
    ),
    click.option(
        "--target-error",
        metavar="NATS",
        type=click.FloatRange(min=0, min_open=True),
        default=0.05,
        show_default=True,
        help="Stop sampling when the error, in nats, is this small.",
    ),
    click.option(
        "--seed",
        metavar="NUMBER",
        type=click.IntRange(min=0),
        default=0,
        show_default=True,
        help="Seed of all random numbers. Each of several models gets its own, made from this "
        "one and its name, so that their errors are independent.",
    ),
    click.option(
        "--max-seconds",
        metavar="SECONDS",
        type=click.FloatRange(min=0, min_open=True),
        help="Stop each run after this time and print what there is; exit code 3.",
    ),
    click.option(
        "--max-evaluations",
        metavar="COUNT",
        type=click.IntRange(min=1),
        help="Stop each run after so many gradients and densities and print what there is; exit "
        "code 3.",
    ),
    click.option(
        "--chains",
        metavar="COUNT",
        type=click.IntRange(min=2),
        help="Chains per rung; 8 if not given.",
    ),
    click.option(
        "--warmup",
        metavar="COUNT",
        type=click.IntRange(min=50),
        help="Warm-up iterations of each chain.",
    ),
    click.option(
        "--kept",
        metavar="COUNT",
        type=click.IntRange(min=20),
        help="Draws of each chain; if not given, as many as the target error needs.",
    ),
    click.option(
        "--prior-check/--no-prior-check",
        "check_prior",
        default=True,
        help="Check that the prior integrates to one, where it is known separately, and that every "
        "parameter of a Stan program has a prior.",
    ),
    click.option("--witness", is_flag=True, help="Make a second estimate in an independent way."),
    click.option(
        "--search",
        type=Names(efforts, or_number="EVALUATIONS"),
        default="default",
        show_default=True,
        help="How hard to look for other modes.",
    ),
    click.option(
        "--draws",
        type=A_FILE,
        multiple=True,
        metavar="FILE",
        help="Posterior draws that you already have: CmdStan's .csv, one for each chain, or "
        "ArviZ's .nc. For one model only.",
    ),
    click.option(
        "--kernel",
        type=Names(kernels),
        default="hmc",
        show_default=True,
        help="How chains move.",
    ),
    click.option(
        "--posterior-draws",
        metavar="COUNT",
        type=click.IntRange(min=1),
        help="Draws of the posterior to keep; if not given, all those the estimate is made of.",
    ),
    click.option(
        "--data-name",
        metavar="NAME",
        help="A name for the data. Models whose data have the same name are ranked together even "
        "if their files differ, as with two sets of covariates.",
    ),
    click.option("--different-data", is_flag=True, help="Rank models even if their data differ."),
    click.option("--checks", is_flag=True, help="Print all checks, not only those that failed."),
    click.option("--profile", is_flag=True, help="After the answer, print what each stage cost."),
    click.option("--json", "as_json", is_flag=True, help="Print the result as JSON."),
    click.option("--quiet", is_flag=True, help="Show no progress."),
)


def run_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """The command with all options of a run."""
    for option in reversed(OPTIONS):
        command = option(command)
    return command
