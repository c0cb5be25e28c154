"""Verification and status of a run, from its directory."""

from __future__ import annotations

import hashlib
import io
import json
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import jax.numpy as jnp
import numpy as np
import pytest

import refti
from refti.run.archive import from_bytes, to_bytes
from refti.run.problem import Problem
from refti.run.settings import Settings
from refti.run.store import keeper as keepers
from refti.run.store.bundles import Bundles
from refti.run.store.directory import locked
from refti.run.store.status import find_runs, read_status
from refti.run.store.verify import recompute, verify_files
from refti.run.tuning import StoreTuning


def model(shift: float = 0.3) -> refti.Model:
    return refti.Model(
        lambda x: -0.5 * (x[0] / 1.7) ** 2 - 0.5 * (x[1] - shift * x[0] ** 2) ** 2, dim=2
    )


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("runs") / "run"
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(keepers, "STORE", StoreTuning(seconds_a_bundle=0.05))
        refti.evidence(model(), reference="diagonal", store=folder, progress=False)
    return folder


@pytest.fixture
def run(finished: Path, tmp_path: Path) -> Path:
    return shutil.copytree(finished, tmp_path / "run")


class TestVerify:
    """Files, and blocks computed again."""

    def test_a_whole_run(self, finished: Path):
        found = verify_files(finished)
        assert found.ok
        assert found.contents == len(Bundles(finished / "blocks").names) > 20
        again = recompute(finished, model(), 6, seed=1)
        assert again.ok
        assert again.recomputed == 6
        assert again.digest == found.digest

    @pytest.mark.parametrize("place", ["result.json", "posterior.nc", "blocks", "run.json"])
    def test_any_changed_file_is_named(self, run: Path, place: str):
        file = sorted((run / place).glob("*.zip"))[1] if place == "blocks" else run / place
        content = bytearray(file.read_bytes())
        content[len(content) // 2] ^= 1
        file.write_bytes(bytes(content))
        found = verify_files(run)
        assert [damage.file.split("-")[0] for damage in found.damaged] in (
            [file.name.split("-")[0]],
            ["result.json"],
        )

    def test_a_file_that_is_none_of_a_run_is_named(self, run: Path):
        (run / "blocks" / "notes.txt").write_text("mine")
        assert [damage.file for damage in verify_files(run).damaged] == ["notes.txt"]

    def test_a_block_forged_with_its_receipt_is_found_by_computing_it_again(self, run: Path):
        problem = Problem(refti.Evidence, (model(),), Settings())
        # The last of all blocks; on a busy machine there are bundles without one.
        receipt, record, place = [
            (file, found, i)
            for file in sorted((run / "blocks").glob("*.json"))
            for found in [json.loads(file.read_text())]
            for i, entry in enumerate(found["entries"])
            if entry["name"].startswith("block")
        ][-1]
        payload = receipt.with_suffix(".zip")
        with zipfile.ZipFile(payload) as file:
            contents = [file.read(str(i)) for i in range(len(record["entries"]))]
        (state, step, trace, usage), evaluated = from_bytes(contents[place], problem)
        shifted = trace._replace(delta=np.asarray(trace.delta) + 0.1)
        contents[place] = to_bytes(((state, step, shifted, usage), evaluated), problem)
        buffer = io.BytesIO()
        with zipfile.ZipFile(buffer, "w") as file:
            for i, content in enumerate(contents):
                file.writestr(str(i), content)
        payload.write_bytes(buffer.getvalue())
        record["sha256"] = hashlib.sha256(buffer.getvalue()).hexdigest()
        entry = record["entries"][place]
        entry["sha256"] = hashlib.sha256(contents[place]).hexdigest()
        receipt.write_text(json.dumps(record))
        assert verify_files(run).ok
        count = len(Bundles(run / "blocks").names)
        assert entry["name"] in recompute(run, model(), count).differing

    def test_another_model_is_refused(self, finished: Path):
        with pytest.raises(refti.StoreError, match="holds another run"):
            recompute(finished, model(0.31), 1)

    def test_no_run(self, tmp_path: Path):
        with pytest.raises(refti.StoreError, match="holds no refti run"):
            verify_files(tmp_path)


class TestStatus:
    """How far a run is."""

    def test_finished(self, finished: Path):
        found, result = read_status(finished), refti.load(finished)
        assert (found.state, found.log_z, found.error) == ("finished", result.value, result.error)
        assert found.trusted is result.trusted
        assert found.parameters == 2
        assert found.megabytes > 0.01

    def test_running_and_cut_short(self, run: Path):
        (run / "result.json").unlink()
        with locked(run, lambda: None):
            assert read_status(run).state == "running"
        found = read_status(run)
        assert found.state == "cut short"
        assert found.stage.startswith("round")
        assert found.round is not None
        assert found.log_z is not None

    def test_runs_in_a_folder(self, run: Path, tmp_path: Path):
        shutil.copytree(run, tmp_path / "another")
        (tmp_path / "link").symlink_to(run)
        assert [folder.name for folder in find_runs(tmp_path)] == ["another", "run"]

    @pytest.mark.parametrize("text", ["", "[]", "[" * 100_000, '{"settings": 3, "models": "x"}'])
    def test_damaged_manifests_and_logs(self, run: Path, text: str):
        (run / "run.json").write_text(text)
        (run / "events.jsonl").write_text('{"event": 3}\n[[[\nnull\n{"event": "round", "log_z": []')
        assert read_status(run).state in ("damaged", "finished")

    def test_it_waits_for_neither_jax_nor_numpy(self, finished: Path):
        code = (
            "import sys\nfrom pathlib import Path\nfrom refti.run.store.status import read_status\n"
            f"read_status(Path({str(finished)!r}))\n"
            "print([name for name in ('jax', 'numpy', 'xarray', 'scipy') if name in sys.modules])"
        )
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
        assert done.stdout.strip() == "[]", done.stderr


def test_a_model_far_away_from_the_probes_is_told_apart(tmp_path: Path):
    """Changes that 12 fixed points do not see: a bound, one datum, a mode far out."""
    data = np.linspace(-1, 1, 1000)

    def made(bound: float = 12.0, datum: float = 0.0, far: float = 0.0) -> refti.Model:
        shifted = data.copy()
        shifted[500] += datum

        def log_density(x):
            inside = jnp.sum(-0.5 * (shifted - x) ** 2) / 1000 - 0.5 * x**2
            mode = jnp.log(1 + far * jnp.exp(-0.5 * (x - 11.5) ** 2 / 1e-6))
            return inside + mode

        return refti.Model(log_density, {"x": refti.upper(bound)})

    settings = {
        "target_error": 0.5,
        "kept": 20,
        "warmup": 50,
        "ladder": refti.uniform(2),
        "search": "quick",
    }
    refti.evidence(made(), **settings, store=tmp_path / "run", progress=False)
    for change in ({"bound": 60.0}, {"datum": 1e-9}, {"far": 1e9}):
        with pytest.raises(refti.StoreError, match="holds another run"):
            refti.evidence(made(**change), **settings, store=tmp_path / "run", progress=False)
    refti.evidence(made(), **settings, store=tmp_path / "run", progress=False)
