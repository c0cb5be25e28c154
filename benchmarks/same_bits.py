"""Whether two revisions give the same bits: every number of the same runs under the same seeds.

`make bits OLD=7e47e2e` runs the suite, a COVID-19 variant, a Stan program, a plain Python function
and one run along every kind of path, by the code of a revision and by that of the working tree (or
of NEW=), and names the runs that differ. Compared are the digest of value, error, lambda and
delta of all draws and the posterior, and the counts of evaluations; runs that differ in the counts
alone are told apart. Bits depend on the processor, so nothing is compared with what another machine
wrote down.
"""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from importlib import import_module
from pathlib import Path
from typing import Any

import click

ROOT = Path(__file__).parents[1]
SEED = 1
STAN = ROOT / "examples" / "radiata"


def runs() -> Iterator[tuple[str, Callable[[], Any]]]:
    """The name of every run, and the function that makes its result."""
    import numpy as np

    import refti
    from refti import suite

    def evidence(model: Callable[[], Any], **settings: Any) -> Callable[[], Any]:
        return lambda: refti.evidence(model(), seed=SEED, progress=False, **settings)

    for target in suite.TARGETS:
        yield f"suite {target.name}", evidence(target.model)
    yield "COVID-19 W=7", evidence(_covid, target_error=0.1, check_prior=False)
    stan = [str(STAN / "radiata.stan"), str(STAN / "density.json")]
    yield "Stan radiata", evidence(lambda: refti.from_stan(*stan))
    yield "Python function", evidence(lambda: refti.from_callable(_skewed, dim=2))
    yield "Python function, two modes", evidence(lambda: refti.from_callable(_two_modes, dim=2))
    model, other = suite.find("log_gamma").model, suite.find("gaussian").model
    split = suite.find("regression_6").model
    yield "power posteriors", evidence(split, path="power")
    yield "telescopic", evidence(model, reference=["laplace", 4], target_error=0.1)
    yield "recipe of the paper", evidence(model, ladder=refti.uniform(5), kept=200, warmup=100)
    yield "NUTS", evidence(model, kernel="nuts")
    for family in ("variational", "warped", "student", "low_rank", "mixture"):
        yield f"reference {family}", evidence(other, reference=family)
    draws = {"x": np.random.default_rng(SEED).normal(size=(500, 2)) * [0.5, 1.0]}
    yield "given draws", evidence(lambda: refti.Model(_gaussian, dim=2), draws=draws)
    yield (
        "model switch",
        lambda: refti.log_bayes_factor(
            refti.Model(_gaussian, dim=2), refti.Model(_quartic, dim=2), seed=SEED, progress=False
        ),
    )


def digests(result: Any) -> tuple[str, str]:
    """The digest of all numbers in a result that a seed decides, and that of what they cost."""
    total = hashlib.sha256()
    total.update(json.dumps([result.value, result.error]).encode())
    for leg in result.draws:
        total.update(leg.lambdas.tobytes())
        total.update(leg.delta.tobytes())
    for name in sorted(result.posterior.data_vars):
        total.update(result.posterior[name].values.tobytes())
    cost = result.cost
    counts = f"{cost.gradient_evaluations} gradients, {cost.density_evaluations} densities"
    return total.hexdigest(), counts


def _covid() -> Any:
    # Where it stands in this revision, and where it stood while modules lay flat.
    for home in ("refti.paper.covid.model", "refti.reproduce.covid"):
        try:
            covid = import_module(home)
        except ModuleNotFoundError:
            continue
        return covid.model(covid.Variant("W=7", window=7))
    raise click.UsageError("There is no COVID-19 model in this revision.")


def _gaussian(x: Any) -> Any:
    return -0.5 * ((2 * x[0]) ** 2 + x[1] ** 2)


def _quartic(x: Any) -> Any:
    return -0.25 * x[0] ** 4 - 0.5 * (x[1] - 0.3 * x[0]) ** 2


def _skewed(x: Any) -> float:
    import numpy as np

    return float(2 * x[0] - np.exp(x[0]) - 0.5 * (x[1] - x[0]) ** 2)


def _two_modes(x: Any) -> float:
    import numpy as np

    left, right = (-0.5 * np.sum((x - m) ** 2) for m in (np.array([-4, 0]), np.array([4, 1])))
    return float(np.logaddexp(left, np.log(0.3) + right))


@click.command()
@click.option("--old", help="The revision to compare with.")
@click.option("--new", help="The other one; the working tree if not given.")
@click.option("--only", default="", help="Runs whose names contain this.")
@click.option(
    "--digests", "show", is_flag=True, help="Print the digests of the code that is imported."
)
def main(old: str | None, new: str | None, only: str, show: bool) -> None:
    """Compare the bits of two revisions, or print those of the code at hand."""
    if show:
        for name, run in runs():
            if only in name:
                result = run()
                shown = f"{result.value:.6f} ± {result.error:.6f}"
                print(json.dumps([name, *digests(result), shown]), flush=True)
        return
    if old is None:
        raise click.UsageError("Give --old REVISION, or --digests.")
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(2) as pool:
        trees = [_checked_out(old, Path(folder)), _checked_out(new, Path(folder)) if new else ROOT]
        found = list(pool.map(lambda tree: _digests(tree, only), trees))
    same = same_numbers = 0
    for name, (numbers, counts, shown) in found[0].items():
        other, other_counts, now = found[1].get(name, ("", "", "no such run"))
        verdict = "same" if (numbers, counts) == (other, other_counts) else f"{shown}, now {now}"
        if numbers == other and counts != other_counts:
            verdict = f"same numbers; {counts}, now {other_counts}"
            same_numbers += 1
        same += verdict == "same"
        click.echo(f"{name:32} {verdict}")
    click.echo(
        f"{same} of {len(found[0])} runs give the same bits, {same_numbers} more the same numbers "
        "for another count of evaluations."
    )
    sys.exit(0 if same == len(found[0]) else 1)


def _checked_out(revision: str, folder: Path) -> Path:
    """A copy of a revision's files."""
    tree = folder / revision.replace("/", "-")
    tree.mkdir()
    archive = subprocess.run(["git", "-C", ROOT, "archive", revision], capture_output=True)
    if archive.returncode != 0:
        raise click.UsageError(f"There is no revision {revision!r}: {archive.stderr.decode()}")
    subprocess.run(["tar", "-x", "-C", tree], input=archive.stdout, check=True)
    return tree


def _digests(tree: Path, only: str) -> dict[str, list[str]]:
    """The digests of a tree's code, and what they are of, by the name of the run."""
    environment = {**os.environ, "PYTHONPATH": str(tree / "src")}
    command = [sys.executable, __file__, "--digests", "--only", only]
    done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, text=True, check=True)
    rows = (json.loads(line) for line in done.stdout.splitlines())
    return {name: rest for name, *rest in rows}


if __name__ == "__main__":
    main()
