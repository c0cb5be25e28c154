"""Messages in the words of the command line: --max-seconds and not max_seconds=."""

from __future__ import annotations

import re

OPTIONS = {
    "chains": "--chains",
    "check_prior": "--prior-check",
    "data": "--data",
    "data_name": "--data-name",
    "draws": "--draws",
    "estimator": "--estimator",
    "kept": "--kept",
    "kernel": "--kernel",
    "ladder": "--rungs",
    "max_evaluations": "--max-evaluations",
    "max_seconds": "--max-seconds",
    "path": "--path",
    "posterior_draws": "--posterior-draws",
    "prior": "--prior-program",
    "reference": "--reference",
    "search": "--search",
    "seed": "--seed",
    "solver_limit": "--solver-limit",
    "store": "--store",
    "target_error": "--target-error",
    "warmup": "--warmup",
    "witness": "--witness",
}
PHRASES = {
    'uniform_priors="normalise" (--uniform-priors normalise)': "--uniform-priors normalise",
    "modernise=True (--modernise)": "--modernise",
    "check_prior=False (--no-prior-check)": "--no-prior-check",
    "solver_limit= of refti.from_stan (--solver-limit)": "--solver-limit",
    "check_prior=False": "--no-prior-check",
    "different_data=True (--different-data)": "--different-data",
    "witness=True": "--witness",
    "or refti.Model(log_prior=, log_likelihood=); for a Stan program "
    "refti.from_stan(program, data, split_prior=True)": (
        "or give them separately in the Python file: refti.Model(log_prior=, log_likelihood=), "
        "refti.from_stan(program, data, split_prior=True)"
    ),
}
_ARGUMENT = re.compile(
    rf"(?<![\w.])(?<!\w\()({'|'.join(OPTIONS)})=(?:(['\"])(\w+)\2|(\d[\d_.]*\d|\d))?(?![=\w])"
)


def in_command_line_words(message: str) -> str:
    """The message with options in place of the arguments of Python functions."""
    for phrase, words in PHRASES.items():
        message = message.replace(phrase, words)

    def option(found: re.Match[str]) -> str:
        value = found[3] or found[4]
        return OPTIONS[found[1]] + (f" {value}" if value else "")

    return _ARGUMENT.sub(option, message)
