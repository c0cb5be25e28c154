"""A run that was cut short goes on where it was, to the bits of one that was not."""

from __future__ import annotations

import json
import os
import shutil
import warnings
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import jax.numpy as jnp
import numpy as np
import pytest

import refti
from python_functions import bent
from refti.run.store import keeper as keepers
from refti.run.store.bundles import Bundles
from refti.run.store.keeper import Keeper
from refti.run.tuning import StoreTuning


class Killed(BaseException):
    """The end of a process, as far as one can be had without ending it."""


def jumping(x: Any) -> Any:
    return -0.5 * jnp.sum(x**2) + jnp.where(x[0] > 0.3, 1.5, 0.0) + jnp.where(x[1] > 1, 2.0, 0.0)


def with_prior() -> refti.Model:
    return refti.Model(
        log_prior=lambda x: -0.5 * x**2 - 0.5 * jnp.log(2 * jnp.pi),
        log_likelihood=lambda x: -2.0 * (x - 1) ** 2,
        parameters={"x": refti.real()},
    )


def funnel(x: Any) -> Any:
    return -(x[0] ** 2) / 18 - 0.5 * (x[1] ** 2 * jnp.exp(-x[0]) + x[0])


Case = tuple[Callable[[], refti.Model], dict[str, Any]]
CASES: dict[str, Case] = {
    "adapted ladder": (lambda: refti.Model(bent, dim=2), {"reference": "diagonal"}),
    "coordinates": (lambda: refti.Model(funnel, dim=2), {}),
    "telescopic": (
        lambda: refti.Model(bent, dim=2),
        {"reference": ["laplace", 4], "kept": 60, "chains": 4, "search": "quick"},
    ),
    "power, prior check, witness": (
        with_prior,
        {"path": "power", "witness": True, "search": "quick"},
    ),
    "black box": (
        lambda: refti.from_callable(bent, dim=2),
        {"target_error": 0.5, "chains": 4},
    ),
    "slices": (lambda: refti.Model(jumping, dim=2), {"target_error": 0.2, "search": "quick"}),
}


@pytest.fixture(autouse=True)
def _write_soon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(keepers, "STORE", StoreTuning(seconds_a_bundle=0.02))


def evidence(case: Case, model: refti.Model | None = None, **options: Any) -> refti.Evidence:
    """The evidence of a case, by its model made anew, or by one whose programs are there."""
    make, settings = case
    return refti.evidence(model or make(), seed=5, progress=False, **{**settings, **options})


def killed_after(count: int, monkeypatch: pytest.MonkeyPatch, run: Callable[[], Any]) -> None:
    """Runs it until so many things were kept."""
    keep, kept = Keeper.keep, 0

    def counted(self: Keeper, *arguments: Any, **options: Any) -> None:
        nonlocal kept
        if kept == count:
            raise Killed
        kept += 1
        keep(self, *arguments, **options)

    with monkeypatch.context() as patched:
        patched.setattr(Keeper, "keep", counted)
        with pytest.raises(Killed):
            run()


def numbers(result: refti.Evidence) -> list[Any]:
    """All that must be the same to the bit."""
    legs = [(leg.lambdas.tobytes(), leg.delta.tobytes()) for leg in result.draws]
    posterior = [np.asarray(values).tobytes() for values in result.posterior.values()]
    counts = result.cost.gradient_evaluations, result.cost.density_evaluations
    checks = [(check.name, repr(check.value), check.ok) for check in result.checks]
    return [result.value, result.error, legs, posterior, counts, checks]


TWICE, OFTEN = (0.3, 0.9), (0.1, 0.5, 0.9, 0.97)
# That the state of every kernel goes on alike after it was in a file is a law of kernels, and that
# a run of several legs or in other coordinates does is seen in test_archive.py.
SELDOM = {"slices", "telescopic", "coordinates"}


@pytest.mark.parametrize(
    ("name", "shares"),
    [
        pytest.param(name, shares, id=f"{name}, {len(shares)} times", marks=marks)
        for name in CASES
        for shares in (TWICE, OFTEN)
        for marks in [pytest.mark.long if shares is OFTEN or name in SELDOM else ()]
    ],
)
def test_a_run_killed_anywhere_goes_on_to_the_same_bits(
    name: str, shares: tuple[float, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    case = CASES[name]
    # Processes of a model of a function in Python keep what they were asked before.
    model = None if name == "black box" else case[0]()
    whole = evidence(case, model, store=tmp_path / "whole")
    names = Bundles(tmp_path / "whole" / "blocks").names
    assert len(names) > 10
    if name != "black box":  # whose points are asked for again, but not evaluated
        assert numbers(evidence(case, model)) == numbers(whole)
    for share in shares:
        count = int(share * len(names)) - len(_kept(tmp_path / "cut"))
        killed_after(count, monkeypatch, lambda: evidence(case, model, store=tmp_path / "cut"))
        assert not (tmp_path / "cut" / "result.json").exists()
    cut = evidence(case, store=tmp_path / "cut")
    assert numbers(cut) == numbers(whole)
    digests = [Bundles(tmp_path / place / "blocks").digest for place in ("whole", "cut")]
    assert digests[0] == digests[1]
    assert _kept(tmp_path / "cut") == _kept(tmp_path / "whole")  # nothing was computed twice


def _kept(folder: Path) -> list[str]:
    return sorted(Bundles(folder / "blocks").names) if folder.exists() else []


@cache
def uncut() -> list[Any]:
    """What the run below gives that was never cut short."""
    return numbers(evidence(TestOneRun.CASE))


class TestOneRun:
    """What becomes of a run whose files were changed."""

    CASE = CASES["adapted ladder"]

    @pytest.fixture(scope="class")
    @classmethod
    def cut(cls, tmp_path_factory: pytest.TempPathFactory) -> Path:
        """A run that was killed in its rounds."""
        folder = tmp_path_factory.mktemp("cut") / "run"
        with pytest.MonkeyPatch.context() as patched:
            patched.setattr(keepers, "STORE", StoreTuning(seconds_a_bundle=0.0))
            killed_after(20, patched, lambda: evidence(cls.CASE, store=folder))
        return folder

    @pytest.fixture
    def run(self, cut: Path, tmp_path: Path) -> Path:
        return shutil.copytree(cut, tmp_path / "run")

    def test_another_seed_gives_other_bits(self, run: Path, tmp_path: Path):
        other = evidence(self.CASE, store=tmp_path / "other", **{"max_evaluations": 19_999_999})
        same = evidence(self.CASE, store=run)
        assert numbers(other) == numbers(same)
        make, settings = self.CASE
        refti.evidence(make(), seed=6, **settings, store=tmp_path / "seed", progress=False)
        digests = [Bundles(folder / "blocks").digest for folder in (run, tmp_path / "seed")]
        assert digests[0] != digests[1]

    # Every kind of damage is found by the tests of bundles as well.
    @pytest.mark.parametrize(
        "harm",
        [
            *("flipped", "linked", "receipt"),
            *(pytest.param(h, marks=pytest.mark.long) for h in ("cut", "gone")),
        ],
    )
    def test_a_damaged_block_is_named_and_run_again(self, run: Path, harm: str, tmp_path: Path):
        before = uncut()
        payload = sorted((run / "blocks").glob("*.zip"))[7]
        content = payload.read_bytes()
        if harm == "cut":
            payload.write_bytes(content[: len(content) // 2])
        elif harm == "flipped":
            payload.write_bytes(content[:-40] + bytes([content[-40] ^ 1]) + content[-39:])
        elif harm == "receipt":
            payload.with_suffix(".json").write_text('{"format": 1, "entries": [[]]}')
        else:
            payload.unlink()
        if harm == "linked":
            (tmp_path / "elsewhere").write_bytes(content)
            payload.symlink_to(tmp_path / "elsewhere")
        with pytest.warns(UserWarning, match=f"{payload.stem}.* was damaged"):
            found = evidence(self.CASE, store=run)
        assert numbers(found) == before
        events = [json.loads(line) for line in (run / "events.jsonl").read_text().splitlines()]
        told = [event["file"] for event in events if event["event"] == "damaged"]
        assert [Path(name).stem for name in told] == [payload.stem]
        assert list(Bundles(run / "blocks").verify()) == []
        if harm == "linked":
            assert (tmp_path / "elsewhere").read_bytes() == content

    def test_leftovers_of_dead_processes_are_removed_and_those_of_live_ones_are_not(
        self, run: Path
    ):
        dead, live = run / "blocks" / f".x.zip.{2**22 + 1}", run / f".run.json.{os.getppid()}"
        for file in (dead, live):
            file.write_bytes(b"half")
        evidence(self.CASE, store=run)
        assert not dead.exists()
        assert live.exists()

    def test_a_full_disk_costs_the_files_and_not_the_number(
        self, run: Path, monkeypatch: pytest.MonkeyPatch
    ):
        before = sorted(path.name for path in (run / "blocks").iterdir())
        whole = uncut()

        def full(*arguments: Any) -> None:
            raise OSError(28, "No space left on device")

        with monkeypatch.context() as patched:
            patched.setattr(os, "fsync", full)
            with pytest.warns(UserWarning, match="not kept.*No space left"):
                found = evidence(self.CASE, store=run)
        assert numbers(found) == whole
        assert sorted(path.name for path in (run / "blocks").iterdir()) == before
        assert not (run / "result.json").exists()
        assert numbers(evidence(self.CASE, store=run)) == whole  # once there is room
        assert refti.load(run).value == found.value

    def test_another_version_is_told(self, run: Path):
        record = json.loads((run / "run.json").read_text())
        record["versions"]["jax"] = "0.9.1"
        (run / "run.json").write_text(json.dumps(record))
        with pytest.warns(UserWarning, match=r"started with jax 0\.9\.1"):
            evidence(self.CASE, store=run)

    def test_seconds_of_all_processes_count(self, run: Path):
        earlier = Keeper(run, Bundles(run / "blocks")).earlier
        spent = sum(tally["seconds"] for tally in earlier)
        assert spent > 0
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            assert evidence(self.CASE, store=run).cost.seconds > spent
