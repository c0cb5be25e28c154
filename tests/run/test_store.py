"""evidence(store=): a run is made once, and each directory belongs to one run.

One run with a reference, a station and draws of its own serves all: whatever else is asked of its
directory is refused before anything is sampled.
"""

from __future__ import annotations

import io
import json
import os
import shutil
import threading
import zipfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import refti
from refti.references.gaussian import Gaussian, gaussian
from refti.results.files import sha256
from refti.run.store.directory import locked, require_usable
from refti.run.store.manifest import fingerprint

FILES = {
    "blocks",
    "draws.nc",
    "events.jsonl",
    "lock",
    "posterior.nc",
    "probes.npz",
    "reference.nc",
    "result.json",
    "run.json",
}


def normal(scale: float) -> refti.Model:
    return refti.Model(lambda x: -0.5 * jnp.sum((x / scale) ** 2), dim=2)


def reference(at: float) -> Gaussian:
    with jax.enable_x64(True):
        return gaussian(np.full(2, at), np.eye(2), 0.0)


MODEL, STATION = normal(1.0), normal(1.5)
DRAWS, OTHER_DRAWS = np.random.default_rng(0).normal(size=(2, 50, 2))
SETTINGS: dict[str, Any] = {
    "reference": [reference(0.5), STATION],
    "draws": {"x": DRAWS},
    "ladder": refti.uniform(2),
    "warmup": 50,
    "kept": 25,
    "chains": 4,
}


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The directory of a finished run; not to be changed."""
    folder = tmp_path_factory.mktemp("runs") / "run"
    refti.evidence(MODEL, **SETTINGS, store=folder)
    return folder


@pytest.fixture
def run(finished: Path, tmp_path: Path) -> Path:
    """A copy of it."""
    return shutil.copytree(finished, tmp_path / "run")


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


def refused(folder: Path, model: refti.Model = MODEL, **changes: Any) -> str:
    """What is said of a run that is not the directory's own, which stays as it is."""
    before = contents(folder)
    with pytest.raises(refti.StoreError) as caught:
        refti.evidence(model, **{**SETTINGS, **changes}, store=folder, progress=_must_not_run)
    assert contents(folder) == before
    return str(caught.value)


def _must_not_run(stage: str, done: int, total: int) -> None:
    raise AssertionError("sampling began")


def test_run_directory_holds_the_run_and_its_result(finished: Path):
    assert {path.name for path in finished.iterdir()} == FILES
    record = json.loads((finished / "run.json").read_text())
    assert record["settings"]["seed"] == 0
    assert {"refti", "jax", "numpy"} <= set(record["versions"])


def test_rerun_loads_instead_of_sampling(finished: Path):
    before, kept = contents(finished), refti.load(finished)
    again = refti.evidence(MODEL, **SETTINGS, store=str(finished), progress=_must_not_run)
    assert again.cost == kept.cost
    assert again.posterior.identical(kept.posterior)
    assert contents(finished) == before


def test_a_model_made_anew_is_the_same_model(finished: Path):
    stations = {**SETTINGS, "reference": [reference(0.5), normal(1.5)]}
    refti.evidence(normal(1.0), **stations, store=finished, progress=_must_not_run)


def test_interrupted_run_is_made_again(run: Path):
    before = refti.load(run)
    (run / "result.json").unlink()
    (run / "draws.nc").write_bytes(b"half a file")
    again = refti.evidence(MODEL, **SETTINGS, store=run)
    assert again.value == before.value
    assert refti.load(run).value == before.value


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"seed": 1}, "settings.seed was 0, now 1"),
        ({"kept": 26}, "settings.kept was 25, now 26"),
        ({"kernel": "nuts"}, "settings.kernel was hmc, now nuts"),
        ({"ladder": [0, 0.4, 1]}, "settings.ladder"),
        ({"estimator": "ti"}, "settings.estimator"),
        ({"reference": "diagonal"}, "settings.reference"),
        ({"reference": [reference(1.5), STATION]}, "reference[0].Gaussian"),
        ({"reference": [reference(0.5), normal(3.0)]}, "reference[1].log_density[0]"),
        ({"draws": {"x": OTHER_DRAWS}}, "draws was"),
        ({"draws": None}, "draws was"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_another_run_is_refused_by_what_differs(finished: Path, change: dict, field: str):
    said = refused(finished, **change)
    assert "holds another run" in said
    assert field in said


def test_rungs_of_a_ladder_are_told_one_by_one(run: Path):
    record = json.loads((run / "run.json").read_text())
    record["settings"]["ladder"] = [0, 0.5, 1]
    (run / "run.json").write_text(json.dumps(record))
    assert "settings.ladder[1] was 0.5, now 0.4" in refused(run, ladder=[0, 0.4, 1])


def test_another_model_is_refused(finished: Path):
    assert "models[0].log_density[0]" in refused(finished, normal(1.1))


def test_other_parameters_are_refused(run: Path):
    record = json.loads((run / "run.json").read_text())
    record["models"][0]["parameters"] = {"y": [2]}
    (run / "run.json").write_text(json.dumps(record))
    assert "models[0].parameters.x" in refused(run)


def test_another_kind_of_run_is_refused(finished: Path):
    settings = {name: SETTINGS[name] for name in ("ladder", "warmup", "kept", "chains")}
    with pytest.raises(refti.StoreError, match="kind was Evidence, now LogRatio"):
        refti.log_bayes_factor(MODEL, MODEL, **settings, store=finished, progress=_must_not_run)


def test_models_that_are_zero_at_every_fixed_point_are_told_apart_by_their_programs():
    def nowhere_near(scale: float) -> refti.Model:
        return refti.Model(
            lambda x: jnp.where(x[0] > 30, -0.5 * jnp.sum((x / scale) ** 2), -jnp.inf), dim=2
        )

    with jax.enable_x64(True):
        one, again, other = (fingerprint(nowhere_near(scale)) for scale in (1.0, 1.0, 2.0))
    assert one == again
    assert one != other


def test_a_run_begun_on_a_terminal_can_continue_elsewhere(monkeypatch: pytest.MonkeyPatch):
    model = refti.Model(lambda x: -0.5 * jnp.sum(x**2), dim=2)
    with jax.enable_x64(True):
        elsewhere = fingerprint(model)
        # JAX prints programs in colours there.
        monkeypatch.setattr("jax._src.pretty_printer.CAN_USE_COLOR", True)
        assert "\x1b[" in str(jax.make_jaxpr(model.log_density)(model.start).jaxpr)
        assert fingerprint(model) == elsewhere


@pytest.mark.parametrize("name", ["notes.txt", "result.json"])
def test_a_foreign_directory_is_refused_and_untouched(tmp_path: Path, name: str):
    (tmp_path / name).write_text("mine")
    assert "holds no refti run" in refused(tmp_path)


def test_a_file_is_no_directory(tmp_path: Path):
    (tmp_path / "file").write_text("mine")
    with pytest.raises(refti.StoreError):
        refti.evidence(MODEL, **SETTINGS, store=tmp_path / "file", progress=_must_not_run)


def test_an_empty_directory_is_used(tmp_path: Path, finished: Path):
    found = refti.evidence(MODEL, **SETTINGS, store=tmp_path)
    assert found.value == refti.load(finished).value
    assert {path.name for path in tmp_path.iterdir()} == FILES


def test_bad_input_leaves_no_directory(tmp_path: Path):
    with pytest.raises(refti.SettingsError):
        refti.evidence(MODEL, seed=-1, store=tmp_path / "run")
    with pytest.raises(refti.PathError):
        refti.evidence(MODEL, path="power", store=tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_a_model_that_fails_its_preflight_leaves_no_run_behind(tmp_path: Path):
    broken = refti.Model(lambda x: jnp.sum(x) * jnp.nan, dim=2)
    with pytest.raises(refti.ModelError, match="not finite"):
        refti.evidence(broken, store=tmp_path / "run")
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize("store", [3, None, "", ["run"], "x" * 5_000, "a\0b"], ids=repr)
def test_what_is_no_directory(store: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(refti.StoreError, match=r"store= must be|cannot be a directory"):
        require_usable(store)
    assert list(tmp_path.iterdir()) == []


def test_a_closed_directory_is_told_before_any_compute(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(os, "access", lambda path, mode: False)  # root may write anywhere
    with pytest.raises(refti.StoreError, match=r"cannot be written to.*chmod"):
        refti.evidence(MODEL, **SETTINGS, store=tmp_path / "run", progress=_must_not_run)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('{"format": 99}', "newer version of refti"),
        ('{"format": "2"}', "not that of a run"),
        ("[" * 100_000, "RecursionError"),
        ('{"format": 2, "settings": [], "models": 3, "versions": []}', "holds another run"),
        ("\0\0\0", "cannot be read"),
    ],
    ids=["newer", "text", "deep", "wrong kinds", "zeros"],
)
def test_manifests_that_cannot_be_read(run: Path, text: str, words: str):
    (run / "run.json").write_text(text)
    assert words in refused(run)


class TestHostileBlocks:
    """Files of blocks that were made to do harm; each is left out, and its block computed again."""

    @staticmethod
    def forge(run: Path, content: bytes, **changes: Any) -> None:
        """Puts bytes in the place of the first content of the last bundle, receipts and all."""
        receipt = sorted((run / "blocks").glob("*.json"))[-1]
        record = json.loads(receipt.read_text())
        with zipfile.ZipFile(receipt.with_suffix(".zip")) as file:
            contents = [file.read(str(i)) for i in range(len(record["entries"]))]
        contents[0] = content
        record["entries"][0]["sha256"] = sha256(content)
        payload = io.BytesIO()
        with zipfile.ZipFile(payload, "w", changes.pop("compression", zipfile.ZIP_STORED)) as file:
            for i, one in enumerate(contents):
                file.writestr(str(i), one)
        record["sha256"] = sha256(payload.getvalue())
        receipt.with_suffix(".zip").write_bytes(payload.getvalue())
        receipt.write_text(json.dumps({**record, **changes}))

    @pytest.fixture(params=["object", "huge", "code", "deep", "zipped"])
    def hostile(self, request: pytest.FixtureRequest, run: Path) -> Path:
        (run / "result.json").unlink()
        buffer = io.BytesIO()
        if request.param == "object":
            np.savez(buffer, tree=np.array([{"a": Exploding()}], dtype=object))
        elif request.param == "huge":
            with zipfile.ZipFile(buffer, "w") as file:
                header = io.BytesIO()
                described = {"descr": "<f8", "fortran_order": False, "shape": (2**43,)}
                np.lib.format.write_array_header_1_0(header, described)
                file.writestr("tree.npy", header.getvalue())
        elif request.param == "code":
            tree = json.dumps({"record": ["Popen", {"args": "touch harm"}]}).encode()
            np.savez(buffer, tree=np.frombuffer(tree, dtype=np.uint8))
        elif request.param == "deep":
            tree = ('{"tuple": [' * 50_000).encode()
            np.savez(buffer, tree=np.frombuffer(tree, dtype=np.uint8))
        compression = zipfile.ZIP_DEFLATED if request.param == "zipped" else zipfile.ZIP_STORED
        self.forge(run, buffer.getvalue(), compression=compression)
        return run

    @pytest.mark.filterwarnings("ignore:.*was damaged")
    def test_it_is_left_out(self, hostile: Path, finished: Path):
        found = refti.evidence(MODEL, **SETTINGS, store=hostile, progress=False)
        assert found.value == refti.load(finished).value
        assert not list(hostile.rglob("harm"))


class Exploding:
    """Raises when it is unpickled."""

    def __reduce__(self) -> Any:
        return (exec, ("raise SystemExit('unpickled')",))


def test_a_second_driver_waits_and_ends_with_the_result(finished: Path, tmp_path: Path):
    told: list[str] = []
    folder, ready = tmp_path / "run", threading.Event()
    shutil.copytree(finished, folder, ignore=shutil.ignore_patterns("result.json"))

    def report(stage: str, done: int, total: int) -> None:
        told.append(stage)
        ready.set()

    with ThreadPoolExecutor(1) as pool:
        with locked(folder, lambda: None):
            waiting = pool.submit(refti.evidence, MODEL, **SETTINGS, store=folder, progress=report)
            assert ready.wait(60)
            assert set(told) == {"waiting for another process on this run"}
            shutil.copy(finished / "result.json", folder)  # the first driver comes to its end
        found = waiting.result()
    assert found.cost == refti.load(finished).cost
    assert set(told) == {"waiting for another process on this run"}
