"""One word for one thing: names that were given up do not come back, nor do other fields' words."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[1] / "src" / "refti"

# What not to call it, and what it is called.
INSTEAD = {
    r"lanes?": "chains",
    r"asked|opts?|cfg|config": "settings",
    r"betas?|temperatures?|inverse_temperatures?|invtemp": "lam, lambdas",
    r"logml|log_ml|lnz|ln_z|logz|log_evidence|log_marginal\w*": "log_z",
    r"refuse_\w+|check_no_\w+": "require_...",
    r"opaque|blind\w*": "value_only",
    r"stretch(es)?": "segment, or block",
    r"landscape\w*|survey\w*": "modes, find_modes",
    r"n_\w+|num_\w+": "the plural: chains, draws",
    r"utils?|helpers?|misc|common": "what it is for",
}
FORBIDDEN = {re.compile(f"_?({words})", re.IGNORECASE): name for words, name in INSTEAD.items()}
# The coefficients of a regression are called as the paper calls them.
ALLOWED = {("paper/radiata/model.py", "beta")}


def names_in(source: str) -> Iterator[str]:
    """Yields the functions, classes and arguments that are named in a module."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield node.name
        elif isinstance(node, ast.arg):
            yield node.arg


def faults_in(source: str, file: str = "") -> list[str]:
    """Returns the names of a module that should be others."""
    return [
        f"{name}: say {instead}"
        for name in names_in(source)
        for words, instead in FORBIDDEN.items()
        if words.fullmatch(name) and (file, name) not in ALLOWED
    ]


def test_words_that_were_given_up_do_not_come_back():
    found = {}
    for path in sorted(PACKAGE.rglob("*.py")):
        file = path.relative_to(PACKAGE).as_posix()
        found[file] = [*faults_in(path.read_text(), file), *faults_in(f"class {path.stem}: ...")]
    assert {file: faults for file, faults in found.items() if faults} == {}


@pytest.mark.parametrize(
    "source",
    [
        "def run(lanes): ...",
        "def run(*, temperature=1): ...",
        "def refuse_chance(): ...",
        "def _refuse_cusp(): ...",
        "class Landscape: ...",
        "lambda beta: beta",
        "def run(n_chains): ...",
    ],
)
def test_the_checker_finds_what_it_is_for(source: str):
    assert len(faults_in(source)) == 1


@pytest.mark.parametrize("source", ["def run(chains): ...", "def betaln(lam): ...", "lanes = 1"])
def test_the_checker_leaves_the_rest(source: str):
    assert faults_in(source) == []
