"""Programs: what is compared, one row each: its environment, what it needs, who runs it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module

from benchmarks.peers.problems import Problem
from benchmarks.peers.rows import Answer


@dataclass(frozen=True)
class Program:
    """A program of the benchmark.

    Attributes:
        name: what rows know it by.
        label: what the page calls it.
        function: `module:function` in this folder, of a problem and a seed.
        environment: the name of its pins in requirements/; that of refti if empty.
        suits: whether it can be asked at all, by the form that it needs.
        largest: the dimension above which it is not asked, as it is not made for that.
        again: whether a process has run it before, whose compiled programs were kept.
    """

    name: str
    label: str
    function: str
    environment: str
    suits: Callable[[Problem], bool]
    largest: int = 100_000
    again: bool = False

    def takes(self, problem: Problem) -> bool:
        """Whether it is asked about a problem."""
        return problem.dim <= self.largest and self.suits(problem)

    def answer(self, problem: Problem, seed: int) -> Answer:
        """Runs it in this process."""
        module, function = self.function.split(":")
        return getattr(import_module(f"benchmarks.peers.{module}"), function)(problem, seed)


def _any(problem: Problem) -> bool:
    return True


def _split(problem: Problem) -> bool:
    return problem.split is not None


def _in_pymc(problem: Problem) -> bool:
    # The zoo has the renewal equation in PyMC with made-up cases only.
    return problem.data is not None and problem.zoo != "renewal"


PROGRAMS = {
    program.name: program
    for program in (
        Program("refti", "refti", "ours:default", "", _any),
        Program("refti_again", "refti, second process", "ours:default", "", _any, again=True),
        Program("refti_two_rungs", "refti, two rungs", "ours:two_rungs", "", _any),
        Program("refti_paper", "refti, the paper's recipe", "ours:paper", "", _any, 1000),
        Program("refti_stan", "refti, Stan", "ours:from_stan", "", lambda p: p.zoo is not None),
        Program("numpyro", "NumPyro NUTS + bridge", "bridges:numpyro", "numpyro", _any, 1000),
        Program("nutpie", "nutpie + bridge", "bridges:nutpie", "nutpie", _any, 1000),
        Program("pymc_smc", "PyMC sample_smc", "tempered:pymc", "pymc", _in_pymc),
        Program("dynesty", "dynesty", "nested:dynesty", "dynesty", _split, 30),
        Program("nautilus", "nautilus", "nested:nautilus", "nautilus", _split, 30),
        Program("ultranest", "UltraNest", "nested:ultranest", "ultranest", _split, 30),
        Program(
            "blackjax_nss", "BlackJAX nested", "nested:blackjax_slices", "blackjax", _split, 50
        ),
        Program(
            "blackjax_smc",
            "BlackJAX persistent",
            "tempered:blackjax_persistent",
            "blackjax",
            _split,
            50,
        ),
        Program("rstan", "R bridgesampling", "rstan:run", "", lambda p: p.program_for_r.exists()),
    )
}
