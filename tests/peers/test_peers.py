"""The benchmark beside other programs: its rows, its problems, what it goes on from, its page."""

from __future__ import annotations

import json
import math
import subprocess
import sys
from dataclasses import asdict, replace
from pathlib import Path

import jax
import numpy as np
import pytest
from benchmarks.peers import known, page, run
from benchmarks.peers.child import MARK
from benchmarks.peers.environments import ROOT, variables
from benchmarks.peers.figures import draw_claims, draw_seconds
from benchmarks.peers.problems import Problem, problems
from benchmarks.peers.programs import PROGRAMS, Program
from benchmarks.peers.rows import Row, read_row
from benchmarks.peers.summary import summarise

from refti import suite
from refti.studies import append_record, read_records

PROBLEMS = problems()
ROW = Row(
    "radiata", "refti", 0, "ok", True, 8.0, 9.0, 2.0, -310.0, 0.1, True, 1, 2, 300.0, 1.0, 100
)


def rows(program: str, off: list[float], error: float, seconds: float) -> list[Row]:
    truth = PROBLEMS["radiata"].truth
    return [
        replace(
            ROW,
            program=program,
            seed=seed,
            cold=seed == 0,
            log_z=truth + miss,
            error=error,
            seconds=seconds,
            sampling_seconds=seconds / 2,
        )
        for seed, miss in enumerate(off)
    ]


class TestRows:
    """Lines of JSON."""

    def test_they_come_back_from_a_file_cut_short(self, tmp_path: Path):
        file = tmp_path / "rows.jsonl"
        without = replace(ROW, seed=1, status="longer than 5 s", error=math.nan)
        for row in (ROW, without):
            append_record(file, asdict(row))
        with file.open("a") as opened:
            opened.write('{"problem": "rad')  # killed while it wrote
        first, second = read_records(file, read_row)
        assert first == ROW
        assert second.status == "longer than 5 s"
        assert math.isnan(second.error)

    def test_what_else_programs_print_is_passed_over(self):
        assert run.parse("iter: 1 | log z") is None
        assert run.parse(MARK + "{}") is None
        assert run.parse(MARK + json.dumps(asdict(ROW))) == ROW


class TestSummary:
    """What rows come to."""

    def test_sampling_goes_with_one_over_the_error_squared(self):
        one = summarise(rows("refti", [0.1, -0.1], 0.1, 8.0), PROBLEMS["radiata"].truth)
        assert (one.rms, one.covered, one.answers) == (pytest.approx(0.1), 1.0, 2)
        assert one.seconds_to_wanted == pytest.approx(4 + 4 * 4)  # (0.1 / 0.05)² times the half
        assert one.limit == pytest.approx(0.1)

    def test_what_is_far_off_does_not_get_there(self):
        one = summarise(rows("numpyro", [1.0, -1.2], 0.1, 8.0), PROBLEMS["radiata"].truth)
        assert one.seconds_to_wanted == math.inf
        assert one.covered == 0.0

    def test_processors_are_another_clock(self):
        found = rows("refti", [0.05], 0.1, 4.0)
        one = summarise(found, PROBLEMS["radiata"].truth, clock="processor")
        assert (one.cold, one.sampling) == (9.0, 4.5)


@pytest.mark.parametrize(
    "name",
    [
        *("radiata", "eggbox"),
        *(
            pytest.param(name, marks=pytest.mark.long)
            for name in ("schools_noncentred", "schools_centred", "logistic_8")
        ),
    ],
)
def test_a_prior_and_a_likelihood_are_those_of_the_model(name: str):
    """The density in unconstrained coordinates, its Jacobian taken away, and E[likelihood] = z."""
    problem = PROBLEMS[name]
    assert problem.split is not None
    split = problem.split()
    rng = np.random.default_rng(1)
    x = split.from_cube(rng.uniform(0.2, 0.8, size=(3, problem.dim)))
    with jax.enable_x64(True):
        both = [float(split.log_prior(row) + split.log_likelihood(row)) for row in x]
        model = problem.model()
        for row, value in zip(x, both, strict=True):
            assert _natural(model, row) == pytest.approx(value, abs=1e-8)


def _natural(model: object, row: np.ndarray) -> float:
    """The log density of the parameters themselves, from that of unconstrained coordinates."""
    space = model.space  # type: ignore[attr-defined]
    start = space.constrain(np.zeros(model.dim))  # type: ignore[attr-defined]
    sizes = [int(np.size(value)) for value in start.values()]
    parts = np.split(row, np.cumsum(sizes)[:-1])
    values = {
        name: part.reshape(np.shape(value))
        for (name, value), part in zip(start.items(), parts, strict=True)
    }
    u = np.asarray(space.unconstrain(values))

    def flat(at: jax.Array) -> jax.Array:
        return jax.numpy.concatenate([jax.numpy.ravel(v) for v in space.constrain(at).values()])

    jacobian = np.linalg.slogdet(np.asarray(jax.jacfwd(flat)(jax.numpy.asarray(u))))[1]
    return float(model.log_density(jax.numpy.asarray(u))) - float(jacobian)  # type: ignore[attr-defined]


def test_the_eight_schools_are_integrated_right():
    """By draws of the prior, whose likelihood has a mean of z: within 4 standard errors."""
    split = PROBLEMS["schools_noncentred"].split
    assert split is not None
    x = split().from_cube(np.random.default_rng(2).uniform(size=(20_000, 10)))
    with jax.enable_x64(True):
        likelihoods = np.exp(np.asarray(jax.vmap(split().log_likelihood)(x)))
    mean, error = likelihoods.mean(), likelihoods.std() / np.sqrt(len(x))
    assert abs(mean - np.exp(known.eight_schools())) < 4 * error


def test_dimensions_and_evidences_are_those_of_the_models():
    assert known.log_z_of_skewed(30) == pytest.approx(suite.skewed(30).log_z, abs=1e-10)
    for name in ("covid_w7", "covid_ar2", "skewed_10", "logistic_21"):
        assert PROBLEMS[name].model().dim == PROBLEMS[name].dim


def test_programs_are_asked_only_what_they_can_be_asked():
    funnel, large = PROBLEMS["funnel_10"], PROBLEMS["ar1_10000"]
    assert not PROGRAMS["dynesty"].takes(funnel)
    assert PROGRAMS["refti"].takes(large)
    assert not PROGRAMS["numpyro"].takes(large)
    assert PROGRAMS["rstan"].takes(PROBLEMS["radiata"])


TINY = """
import json, os, sys, time
from dataclasses import asdict
from benchmarks.peers.child import MARK
from benchmarks.peers.rows import read_row
row = json.loads(os.environ["ROW"])
for seed in sys.argv[3:]:
    if seed == os.environ["STUCK"]:
        time.sleep(60)
    print("noise\\n" + MARK + json.dumps({**row, "seed": int(seed)}), flush=True)
    if seed == os.environ["BROKEN"]:
        raise ValueError("no more")
"""


class TestRuns:
    """Processes of programs."""

    def seeds(self, monkeypatch: pytest.MonkeyPatch, limit: float, **how: str) -> list[Row]:
        """The rows of seeds 0 to 2 of a process that gets stuck at one seed or breaks after one."""
        real = subprocess.Popen

        def start(command: list[str], **options: object) -> object:
            more = {"ROW": json.dumps(asdict(ROW)), "STUCK": "-", "BROKEN": "-", **how}
            options["env"] = {**variables(), **more}  # type: ignore[index]
            return real([sys.executable, "-c", TINY, *command[3:]], **options)  # type: ignore[call-overload]

        monkeypatch.setattr(run.subprocess, "Popen", start)
        return list(run.run_seeds(PROGRAMS["refti"], PROBLEMS["radiata"], [0, 1, 2], limit))

    def test_a_row_that_takes_too_long_is_ended_and_noted(self, monkeypatch: pytest.MonkeyPatch):
        found = self.seeds(monkeypatch, 4.0, STUCK="1")
        assert [row.status for row in found] == ["ok", "longer than 4 s", "longer than 4 s"]
        assert [row.seed for row in found] == [0, 1, 2]

    def test_a_program_that_fails_tells_why(self, monkeypatch: pytest.MonkeyPatch):
        found = self.seeds(monkeypatch, 60.0, BROKEN="1")
        assert [row.status for row in found] == ["ok", "ok", "ValueError: no more"]

    def test_a_killed_benchmark_goes_on(self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
        file, asked = tmp_path / "rows.jsonl", []
        append_record(file, asdict(replace(ROW, seed=1)))

        def answers(program: Program, problem: Problem, seeds: list[int], limit: float):
            asked.append((program.name, seeds))
            yield from (replace(ROW, program=program.name, seed=seed) for seed in seeds)

        monkeypatch.setattr(run, "run_seeds", answers)
        command = ["run", "--problems", "radiata", "--programs", "refti,dynesty", "--seeds", "3"]
        monkeypatch.setattr(sys, "argv", [*command, "-o", str(file)])
        run.main()
        assert asked == [("refti", [0, 2]), ("dynesty", [0, 1, 2])]
        asked.clear()
        run.main()
        assert all(not seeds for _, seeds in asked)
        assert len(read_records(file, read_row)) == 6


@pytest.mark.long
def test_a_process_of_refti_tells_its_row():
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.peers.child", "refti", "radiata", "3"],
        env=variables(),
        cwd=ROOT,
        capture_output=True,
    )
    (line,) = [text for text in done.stdout.decode().splitlines() if text.startswith(MARK)]
    row = run.parse(line)
    assert row is not None
    assert (row.problem, row.seed, row.cold, row.status) == ("radiata", 3, True, "ok")
    assert abs(row.log_z - PROBLEMS["radiata"].truth) < 5 * row.error
    assert 0 < row.sampling_seconds < row.seconds
    assert row.length > 0
    assert row.draws > 100
    assert row.megabytes > 50


def test_the_page_says_who_is_ahead_and_who_is_wrong(tmp_path: Path):
    found = page.summaries(
        [
            *rows("refti", [0.05, -0.05], 0.05, 10.0),
            *rows("dynesty", [0.05, -0.05], 0.05, 5.0),
            *rows("numpyro", [1.0, 1.1], 0.1, 5.0),
            replace(ROW, program="ultranest", status="longer than 120 s"),
        ],
        PROBLEMS,
    )
    text = page.page(found, PROBLEMS, "make bench-quick")
    table = page.headline(found, PROBLEMS)
    assert "| 10 |" in table
    assert "0.5×" in table
    assert "wrong by 1.05" in table
    assert "no answer" in table
    assert "dynesty takes 0.5 of refti's seconds" in text
    assert "NumPyro NUTS + bridge takes" not in text
    assert "0 of 1 (longer than 120 s)" in text
    for draw, name in ((lambda f: draw_seconds(found, PROBLEMS, f), "a"), (None, "b")):
        file = tmp_path / f"{name}.svg"
        draw(file) if draw else draw_claims(found, file)
        first = file.read_bytes()
        assert b"<svg" in first
        draw(file) if draw else draw_claims(found, file)
        assert file.read_bytes() == first
