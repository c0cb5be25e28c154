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
        help="JSON or R dump for Stan programs: one file for all, or one for each, in their order.",
    ),
    click.option(
        "--prior-program",
        type=A_FILE,
        metavar="FILE",
        help="Stan program of the prior alone, for --path power and to check that it integrates "
        "to one. Without it the program's own statements on parameters are its prior.",
    ),
    click.option(
        "--solver-limit",
        type=click.IntRange(min=1),
        metavar="COUNT",
        help="How often one density of a Stan program may evaluate the right-hand side of its "
        "differential equations.",
    ),
    click.option(
        "--uniform-priors",
        type=click.Choice(["keep", "normalise"]),
        default="keep",
        show_default=True,
        help="The prior of parameters of a Stan program that have two bounds and no prior "
        "statement: keep their density of 1, or normalise it to integrate to one.",
    ),
    click.option(
        "--modernise",
        is_flag=True,
        help="Convert Stan programs in the syntax from before 2.33, such as real y[N].",
    ),
    click.option(
        "--store",
        type=click.Path(path_type=Path, file_okay=False),
        metavar="FOLDER",
        help="Where to keep the run. A run that is finished there is read and not made again. With "
        "several models, each has a folder in it.",
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
        help="From a reference, or from the prior by powers of the likelihood.",
    ),
    click.option(
        "--rungs",
        type=click.IntRange(min=2),
        metavar="COUNT",
        help="Number of rungs, spaced by --exponent; placed where they are needed if not given.",
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
        help="The error, in nats, at which sampling ends.",
    ),
    click.option(
        "--seed",
        metavar="NUMBER",
        type=click.IntRange(min=0),
        default=0,
        show_default=True,
        help="All randomness comes from it. Several models get a seed each, made from this one "
        "and the model's name, so that their errors are independent.",
    ),
    click.option(
        "--max-seconds",
        metavar="SECONDS",
        type=click.FloatRange(min=0, min_open=True),
        help="End each run with what there is after this time; exit code 3.",
    ),
    click.option(
        "--max-evaluations",
        metavar="COUNT",
        type=click.IntRange(min=1),
        help="End each run with what there is after so many gradients and densities; exit code 3.",
    ),
    click.option(
        "--chains",
        metavar="COUNT",
        type=click.IntRange(min=2),
        help="Chains a rung; 8 if not given.",
    ),
    click.option(
        "--warmup",
        metavar="COUNT",
        type=click.IntRange(min=50),
        help="Iterations that adapt a chain.",
    ),
    click.option(
        "--kept",
        metavar="COUNT",
        type=click.IntRange(min=20),
        help="Draws of each chain; as many as the target error asks for if not given.",
    ),
    click.option(
        "--prior-check/--no-prior-check",
        "check_prior",
        default=True,
        help="Check that a prior that is known separately integrates to one, and that every "
        "parameter of a Stan program has a prior.",
    ),
    click.option("--witness", is_flag=True, help="Repeat the estimate in an independent way."),
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
        help="Posterior draws that you have already: CmdStan's .csv, one for each chain, or "
        "ArviZ's .nc. For one model.",
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
        help="Draws of the posterior to keep; as many as the estimate is made of if not given.",
    ),
    click.option(
        "--data-name",
        metavar="NAME",
        help="A name for the data. Models whose data have the same name are ranked together even "
        "if their files differ, as with two sets of covariates.",
    ),
    click.option(
        "--different-data", is_flag=True, help="Rank models of different data nevertheless."
    ),
    click.option("--checks", is_flag=True, help="Print all checks, not only those that failed."),
    click.option("--profile", is_flag=True, help="Print what each stage took, after the answer."),
    click.option("--json", "as_json", is_flag=True, help="Print the result as JSON."),
    click.option("--quiet", is_flag=True, help="No progress."),
)


def run_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """The command with all options of a run."""
    for option in reversed(OPTIONS):
        command = option(command)
    return command
