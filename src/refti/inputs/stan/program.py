"""A Stan program as the user has it, and what stanc, Stan's own compiler, says of it."""

from __future__ import annotations

import hashlib
import json
import re
import subprocess
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from refti.errors import ModelError
from refti.inputs.stan.compiler import run
from refti.inputs.stan.factors import Code
from refti.inputs.stan.modernise import modernise

# stanc makes a namespace of this name, so it must not be a word of anybody's program.
NAMESPACE = "refti_generated_stan_program"
MAKE = ("--O1", f"--name={NAMESPACE}", "--print-cpp")
PRINT = ("--auto-format", "--canonicalize=deprecations,parentheses,braces,includes")


@dataclass(frozen=True)
class Program:
    """A program that stanc has accepted.

    Attributes:
        name: the file's name, or "program" for a text.
        generated: the C++ that stanc made of it.
        data: the type and the number of dimensions of each datum it declares.
        parameters: the same of each parameter.
        text: the program, as it is compiled.
        sha256: of the program as it was given.
        folder: where its includes are.
        code: the program as stanc prints it, includes and all, taken apart.
        transformed: the names of its transformed parameters.
        quantities: the names of its generated quantities.
    """

    name: str
    generated: str
    data: Mapping[str, Mapping[str, Any]]
    parameters: Mapping[str, Mapping[str, Any]]
    text: str
    sha256: str
    folder: Path | None
    code: Code
    transformed: tuple[str, ...] = ()
    quantities: tuple[str, ...] = ()


def read_program(program: str | Path, stanc: Path, *, modern: bool = True) -> Program:
    """The program of a file, or of a text; one that is not modern is converted first.

    Raises ModelError, in the words of stanc, if it is no program that has an evidence.
    """
    name, text, folder = _read_source(program)
    sha256 = hashlib.sha256(text.encode()).hexdigest()
    text = text if modern else modernise(text)
    options = [f"--filename-in-msg={name}"]
    if folder is not None:
        options.append(f"--include-paths={folder}")
    # stanc writes its options into the code, by which the cache tells programs apart; yet a copy in
    # another folder is the same program.
    generated = _stanc(stanc, text, *MAKE, *options)
    generated = generated.replace(f"--include-paths={folder}", "--include-paths=.")
    facts = json.loads(_stanc(stanc, text, "--info", *options))
    code = Code(_stanc(stanc, text, *PRINT, *options))
    parameters = facts["parameters"]
    odd = [key for key, known in parameters.items() if known["type"] != "real"]
    if odd:
        raise ModelError(
            f"{name} has parameters that are not real numbers or arrays of them: {', '.join(odd)} "
            "(complex or tuple). Declare their parts as real parameters."
        )
    derived = (tuple(facts[block]) for block in ("transformed parameters", "generated quantities"))
    return Program(
        name, generated, facts["inputs"], parameters, text, sha256, folder, code, *derived
    )


# Words of the language by the version of Stan that they came with, where programs may lack them.
_CAME_WITH = {
    **dict.fromkeys(("jacobian", "sum_to_zero_vector"), "2.36"),
    **dict.fromkeys(("column_stochastic_matrix", "row_stochastic_matrix"), "2.36"),
    **dict.fromkeys(("sum_to_zero_matrix", "laplace_marginal", "laplace_latent"), "2.37"),
}


def regenerate(program: Program, text: str, stanc: Path) -> Program:
    """The program with the C++ of another text in the place of its own."""
    generated = _stanc(stanc, text, *MAKE, f"--filename-in-msg={program.name}")
    return replace(program, generated=generated)


def _read_source(program: str | Path) -> tuple[str, str, Path | None]:
    """The name of a program, its text, and the folder of its includes."""
    if isinstance(program, str) and ("\n" in program or "{" in program):
        return "program", program, None
    if not isinstance(program, str | Path):
        raise ModelError(
            "A Stan program is given by the path of its file, or as its text; got "
            f"{type(program).__name__}."
        )
    file = Path(program)
    if not file.is_file():
        raise ModelError(f"There is no Stan program {file}. Expected a file such as model.stan.")
    return file.name, file.read_text(encoding="utf-8"), file.resolve().parent


def _stanc(stanc: Path, text: str, *arguments: str) -> str:
    """What stanc prints of a program. Raises ModelError if it refuses."""
    with tempfile.TemporaryDirectory() as scratch:
        file = Path(scratch) / "program.stan"
        file.write_text(text, encoding="utf-8")
        command = [str(stanc), *arguments, str(file)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        said = (done.stderr or done.stdout).strip()
        remedy = _remedy(said) or _of_newer_stan(text, stanc)
        raise ModelError(f"Stan does not accept the program.\n{said}{remedy}")
    return done.stdout


def stan_version(stanc: Path) -> str:
    """The version of Stan that a stanc belongs to."""
    printed = run([stanc, "--version"], "stanc could not be run")
    return printed.split()[1].removeprefix("v")


def _of_newer_stan(text: str, stanc: Path) -> str:
    """What to do about a program that is refused, and has words of a later Stan."""
    here = stan_version(stanc)
    used = [word for word in _CAME_WITH if re.search(rf"\b{word}(?![A-Za-z0-9])", text)]
    later = {word: _CAME_WITH[word] for word in used if _numbers(_CAME_WITH[word]) > _numbers(here)}
    if not later:
        return ""
    said = ", ".join(f"{word} with Stan {version}" for word, version in later.items())
    return (
        f"\nThe program is read by Stan {here}, and some of its words came later ({said}). Write "
        "it without them, or let the environment variable BRIDGESTAN name the folder of a newer "
        "BridgeStan."
    )


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in re.findall(r"\d+", version)[:2])


def _remedy(said: str) -> str:
    """What to do about what stanc says, where it does not tell itself."""
    if "old array syntax" in said:
        return (
            "\nPrograms written for Stan before 2.33 declare arrays as `real y[N]`; this Stan "
            "reads `array[N] real y`. Use modernise=True (--modernise) to convert it."
        )
    if "cannot be integers" in said:
        return (
            "\nDiscrete parameters have no density to integrate: sum them out of the program "
            "(log_sum_exp, log_mix)."
        )
    return ""
