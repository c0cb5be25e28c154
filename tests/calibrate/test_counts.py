"""What is counted over runs: modes found, checks that fired, targets trusted and wrong."""

from __future__ import annotations

import math

from made_up_runs import a_run
from refti.calibrate import checks, modes, seeds, table
from refti.calibrate.runs import suite_target
from refti.suite import EASY


def is_narrow(words: str) -> bool:
    """Whether a terminal of 80 letters breaks no line."""
    return max(map(len, words.splitlines())) <= 80


def test_modes_are_counted():
    runs = [
        a_run(0, z=1.0),
        a_run(1, z=5.0, error=0.01),  # within 0.2 nats
        a_run(2, z=5.0),
        a_run(3, z=1.0, trusted=False),
        a_run(4, z=9.0, trusted=False),
        a_run(5, error=math.nan, trusted=False),
    ]
    (row,) = modes.count(runs)
    assert (row.runs, row.right, row.wrong, row.untrusted, row.near) == (6, 2, 1, 3, 1)
    assert not modes.passes([row])
    assert modes.passes(modes.count(runs[:2] + runs[3:]))
    words = modes.text([row])
    assert words.startswith(
        "Of 6 runs 2 were trusted and right, 1 trusted and wrong, 3 not trusted"
    )
    assert is_narrow(words)


def test_the_mixtures_of_the_study():
    jobs = modes.jobs(50, {})
    assert len(jobs) == 400
    targets = {suite_target(job).name for job in jobs}
    assert len(targets) == 8
    assert "bimodal_10d_30sd_90" in targets


def test_checks_are_counted_on_good_and_bad_runs():
    fired = {"trusted": False, "failed": ("overlap",)}
    runs = [
        a_run(0, z=2.0),
        a_run(1, z=0.1, **fired),
        a_run(2, z=-4.0),
        a_run(3, z=7.0, trusted=False, failed=("overlap", "convergence")),
        a_run(4, error=math.inf, **fired),
        a_run(5, error=math.nan, trusted=False, checks={}, message="SamplingError: none"),
    ]
    found = checks.firings(runs)
    assert (found.good, found.bad, found.refused) == (2, 4, 1)
    assert (found.trusted_good, found.trusted_bad) == (1, 1)
    overlap, convergence = found.checks
    assert (overlap.on_good, overlap.on_bad) == (1, 2)
    assert (overlap.alone_on_good, overlap.alone_on_bad) == (1, 1)
    assert (convergence.on_good, convergence.on_bad, convergence.alone_on_bad) == (0, 1, 0)
    assert not found.passes
    assert checks.firings(runs[:2]).passes
    words = checks.text(found)
    assert words.splitlines()[0] == (
        "Good (within 3 errors): 2, trusted 1. Bad: 4 (1 refused), trusted 1."
    )
    assert is_narrow(words)


def test_the_table_names_what_is_trusted_and_wrong():
    runs = [
        a_run(target="fine"),
        a_run(target="far", z=-4.0),
        a_run(target="unsure", z=9.0, trusted=False, failed=("overlap",)),
        a_run(target="two", modes=2, trusted=False, failed=("overlap",)),
    ]
    found = table.summary(runs)
    assert found.wrong == ("far",)
    assert not found.passes
    assert (found.trusted, found.unimodal, found.unimodal_trusted) == (2, 3, 2)
    runs.append(a_run(target="refused", trusted=False, message=f"it {'really ' * 20}\ncannot"))
    words = table.text(runs, 200)
    assert words.startswith("Trusted: 2 of 5. Trusted and wrong (|z| > 3.5): 1 (far). Of the uni")
    assert words.splitlines()[-3].endswith("no: overlap")
    assert "refused: it really" in words
    assert is_narrow(table.text(runs, 80))


def test_seeds_are_counted_target_by_target():
    runs = [
        a_run(0, z=3.9, gradients=3000, seconds=2.0),
        a_run(1, z=-4.1, gradients=1000, seconds=1.0),
        a_run(2, z=9.0, trusted=False, gradients=2000, seconds=6.0),
        a_run(3, trusted=False, gradients=0, seconds=math.nan, message="SamplingError: none"),
        a_run(4, error=math.inf),
        a_run(5, target="fine"),
    ]
    first, second = seeds.count(runs)
    assert (first.runs, first.right, first.untrusted, first.refused, first.wrong) == (5, 1, 2, 1, 2)
    # Medians of 3100, 1100, 2100 and 1100 evaluations; the refused run made none.
    assert (first.evaluations, first.seconds) == (1600, 1.5)
    assert (second.target, second.right, second.wrong) == ("fine", 1, 0)
    assert not seeds.passes([first, second])
    assert seeds.passes([second])
    words = seeds.text([first, second])
    assert is_narrow(words)
    words = " ".join(words.split())
    assert "Of 6 runs of 2 targets 2 were trusted and right (33.3 %), 2 not trusted" in words
    assert "2 trusted and wrong (|z| > 4) (gaussian)" in words


def test_one_seed_and_many_are_the_same_jobs():
    many = seeds.jobs(EASY[:2], 3, 4, {"kept": 50})
    assert [job.seed for job in many] == [3, 4, 5, 6] * 2
    assert table.jobs(EASY[:2], 3, {"kept": 50}) == many[::4]
