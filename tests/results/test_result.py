"""Results on disk: the same bits come back, and nothing else is accepted."""

from __future__ import annotations

import json
import pickle
from dataclasses import asdict, replace
from math import inf, isnan, nan
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import refti
from refti.estimators import Estimate
from refti.references.gaussian import gaussian
from targets import product

SETTINGS = {"warmup": 50, "kept": 40, "ladder": refti.uniform(3)}
FILES = {"result.json", "draws.nc", "posterior.nc"}


@pytest.fixture(scope="module")
def model() -> refti.Model:
    return product()


@pytest.fixture(scope="module")
def result(model: refti.Model) -> refti.Evidence:
    return refti.evidence(model, **SETTINGS)


@pytest.fixture
def run(result: refti.Evidence, model: refti.Model, tmp_path: Path) -> Path:
    """The directory of a finished run."""
    folder = tmp_path / "run"
    refti.evidence(model, **SETTINGS, store=folder)
    return folder


def _must_not_run(stage: str, done: int, total: int) -> None:
    raise AssertionError("sampling began")


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir())}


class TestRoundTrip:
    """save() and load()."""

    def test_every_bit_comes_back(self, result: refti.Evidence, tmp_path: Path):
        result.save(tmp_path / "kept")
        again = refti.load(tmp_path / "kept")
        assert type(again) is refti.Evidence
        assert (again.value, again.error) == (result.value, result.error)
        assert dict(again.estimates) == dict(result.estimates)
        assert again.checks == result.checks
        assert again.cost == result.cost
        assert dict(again.settings) == dict(result.settings)
        assert again.trusted == result.trusted
        assert again.posterior.identical(result.posterior)
        for name, variable in result.posterior.items():
            assert again.posterior[name].dtype == variable.dtype
        for here, there in zip(result.draws, again.draws, strict=True):
            np.testing.assert_array_equal(here.lambdas, there.lambdas)
            np.testing.assert_array_equal(here.delta, there.delta)
        assert str(again) == str(result)

    def test_numbers_that_are_not_finite(self, result: refti.Evidence, tmp_path: Path):
        checks = (replace(result.checks[0], value=nan, ok=False), *result.checks[1:])
        strange = replace(
            result,
            error=inf,
            estimates={"mbar": Estimate(-1.5, inf), "ti": Estimate(-inf, 0.1, inf)},
            checks=checks,
        )
        strange.save(tmp_path / "kept")
        again = refti.load(tmp_path / "kept")
        assert again.error == inf
        assert dict(again.estimates) == dict(strange.estimates)
        assert isnan(again.checks[0].value)
        assert not again.trusted
        assert again.interval() == (-inf, inf)

    def test_a_ratio_comes_back_as_a_ratio(self, result: refti.Evidence, tmp_path: Path):
        fields = {name: getattr(result, name) for name in result.__dataclass_fields__}
        refti.LogRatio(**fields).save(tmp_path / "kept")
        again = refti.load(tmp_path / "kept")
        assert type(again) is refti.LogRatio
        assert not hasattr(again, "log_z")

    def test_json_is_strict(self, result: refti.Evidence, tmp_path: Path):
        replace(result, error=inf).save(tmp_path / "kept")

        def refuse(constant: str) -> None:
            raise AssertionError(f"{constant} is not JSON")

        text = (tmp_path / "kept" / "result.json").read_text()
        record = json.loads(text, parse_constant=refuse)
        assert record["kind"] == "Evidence"
        assert record["checks"] == [asdict(check) for check in result.checks]

    def test_only_json_and_netcdf_are_written_and_nothing_is_unpickled(
        self, result: refti.Evidence, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ):
        result.save(tmp_path / "kept")
        assert set(contents(tmp_path / "kept")) == FILES

        def refuse(*arguments: Any, **options: Any) -> None:
            raise AssertionError("unpickled")

        for name in ("load", "loads", "Unpickler"):
            monkeypatch.setattr(pickle, name, refuse)
        assert refti.load(tmp_path / "kept").value == result.value

    def test_a_result_is_not_written_over(self, result: refti.Evidence, tmp_path: Path):
        result.save(tmp_path / "kept")
        before = contents(tmp_path / "kept")
        with pytest.raises(refti.StoreError, match="holds a result already"):
            result.save(tmp_path / "kept")
        assert contents(tmp_path / "kept") == before

    @pytest.mark.parametrize("level", [0, 1, -0.5, nan])
    def test_impossible_levels(self, result: refti.Evidence, level: float):
        with pytest.raises(refti.SettingsError, match="between 0 and 1"):
            result.interval(level)


class TestDamage:
    """Files that are not those that were written."""

    @pytest.mark.parametrize("file", ["draws.nc", "posterior.nc"])
    def test_changed_netcdf_is_refused(self, result: refti.Evidence, tmp_path: Path, file: str):
        result.save(tmp_path)
        data = bytearray((tmp_path / file).read_bytes())
        data[len(data) // 2] ^= 1
        (tmp_path / file).write_bytes(bytes(data))
        with pytest.raises(refti.StoreError, match="sha256") as caught:
            refti.load(tmp_path)
        assert file in str(caught.value)

    @pytest.mark.parametrize("file", ["draws.nc", "posterior.nc"])
    def test_missing_netcdf_is_refused(self, result: refti.Evidence, tmp_path: Path, file: str):
        result.save(tmp_path)
        (tmp_path / file).unlink()
        with pytest.raises(refti.StoreError, match=file):
            refti.load(tmp_path)

    @pytest.mark.parametrize(
        "text",
        ["", "{", "[]", "null", '{"format": 99}', '{"format": 1}'],
        ids=["empty", "cut", "list", "null", "other format", "fields missing"],
    )
    def test_damaged_json_is_refused(self, result: refti.Evidence, tmp_path: Path, text: str):
        result.save(tmp_path)
        (tmp_path / "result.json").write_text(text)
        with pytest.raises(refti.StoreError):
            refti.load(tmp_path)

    def test_nothing_there(self, tmp_path: Path):
        with pytest.raises(refti.StoreError, match="no finished result"):
            refti.load(tmp_path / "nowhere")


class TestStore:
    """evidence(store=): a run is made once, and each directory belongs to one run."""

    def test_run_directory_holds_the_run_and_its_result(self, run: Path, result: refti.Evidence):
        assert set(contents(run)) == {"run.json", *FILES}
        assert refti.load(run).value == result.value
        record = json.loads((run / "run.json").read_text())
        assert record["settings"]["seed"] == 0
        assert {"refti", "jax", "numpy"} <= set(record["versions"])

    def test_rerun_loads_instead_of_sampling(self, run: Path, model: refti.Model):
        before = contents(run)
        kept = refti.load(run)
        again = refti.evidence(model, **SETTINGS, store=str(run), progress=_must_not_run)
        assert again.cost == kept.cost
        assert again.posterior.identical(kept.posterior)
        assert contents(run) == before

    def test_a_model_made_anew_is_the_same_model(self, run: Path):
        refti.evidence(product(), **SETTINGS, store=run, progress=_must_not_run)

    def test_interrupted_run_is_made_again(
        self, run: Path, model: refti.Model, result: refti.Evidence
    ):
        (run / "result.json").unlink()
        (run / "draws.nc").write_bytes(b"half a file")
        again = refti.evidence(model, **SETTINGS, store=run)
        assert again.value == result.value
        assert refti.load(run).value == result.value

    @pytest.mark.parametrize(
        ("change", "field"),
        [
            ({"seed": 1}, "settings.seed was 0, now 1"),
            ({"kept": 41}, "settings.kept was 40, now 41"),
            ({"kernel": "nuts"}, "settings.kernel was hmc, now nuts"),
            ({"reference": "diagonal"}, "settings.reference[0] was auto, now diagonal"),
            ({"ladder": [0, 0.4, 1]}, "settings.ladder[1] was 0.5, now 0.4"),
            ({"ladder": refti.uniform(4)}, "settings.ladder"),
            ({"estimator": "ti"}, "settings.estimator"),
        ],
        ids=lambda value: value if isinstance(value, str) else "",
    )
    def test_other_settings_are_refused_by_name(
        self, run: Path, model: refti.Model, change: dict[str, Any], field: str
    ):
        before = contents(run)
        with pytest.raises(refti.StoreError) as caught:
            refti.evidence(model, **{**SETTINGS, **change}, store=run, progress=_must_not_run)
        assert field in str(caught.value)
        assert "holds another run" in str(caught.value)
        assert contents(run) == before

    def test_another_model_is_refused(self, run: Path):
        other = refti.Model(
            lambda scale, share, shift: -scale - jnp.sum(share) - shift**2,
            dict(product().parameters),
        )
        with pytest.raises(refti.StoreError, match=r"models\[0\]\.log_density\[0\]"):
            refti.evidence(other, **SETTINGS, store=run, progress=_must_not_run)

    def test_other_parameters_are_refused(self, run: Path):
        other = refti.Model(lambda x: -jnp.sum(x**2), dim=4)
        with pytest.raises(refti.StoreError, match=r"models\[0\]"):
            refti.evidence(other, **SETTINGS, store=run, progress=_must_not_run)

    def test_another_kind_of_run_is_refused(self, run: Path, model: refti.Model):
        with pytest.raises(refti.StoreError, match="kind was Evidence, now LogRatio"):
            refti.log_bayes_factor(model, model, **SETTINGS, store=run, progress=_must_not_run)

    def test_other_numbers_of_a_given_reference_are_refused(self, tmp_path: Path):
        model = refti.Model(lambda x: -0.5 * jnp.sum(x**2), dim=2)
        with jax.enable_x64(True):
            near, far = (gaussian(np.full(2, at), np.ones(2), 0.0) for at in (0.5, 1.5))
        refti.evidence(model, **SETTINGS, reference=near, store=tmp_path / "run")
        with pytest.raises(refti.StoreError, match="reference"):
            refti.evidence(model, **SETTINGS, reference=far, store=tmp_path / "run")

    def test_another_station_of_a_telescopic_path_is_refused(self, tmp_path: Path):
        def normal(scale: float) -> refti.Model:
            return refti.Model(lambda x: -0.5 * jnp.sum((x / scale) ** 2), dim=2)

        model, folder = normal(1.0), tmp_path / "run"
        refti.evidence(model, **SETTINGS, reference=["covariance", normal(2.0)], store=folder)
        with pytest.raises(refti.StoreError, match="reference"):
            refti.evidence(model, **SETTINGS, reference=["covariance", normal(3.0)], store=folder)

    def test_other_draws_are_refused(self, tmp_path: Path):
        model = refti.Model(lambda x: -0.5 * jnp.sum(x**2), dim=2)
        some, others = np.random.default_rng(0).normal(size=(2, 50, 2))
        refti.evidence(model, **SETTINGS, draws={"x": some}, store=tmp_path / "run")
        with pytest.raises(refti.StoreError, match="draws"):
            refti.evidence(model, **SETTINGS, draws={"x": others}, store=tmp_path / "run")

    def test_models_that_are_zero_near_their_start_are_told_apart(self, tmp_path: Path):
        def beyond_three(scale: float) -> refti.Model:
            return refti.Model(
                lambda x: jnp.where(x[0] > 3, -0.5 * jnp.sum((x / scale) ** 2), -jnp.inf),
                dim=2,
                start=[1.5, 0.0],
            )

        refti.evidence(beyond_three(1.0), **SETTINGS, store=tmp_path / "run")
        with pytest.raises(refti.StoreError, match="another run"):
            refti.evidence(beyond_three(2.0), **SETTINGS, store=tmp_path / "run")

    @pytest.mark.parametrize("name", ["notes.txt", "result.json"])
    def test_a_foreign_directory_is_refused_and_untouched(
        self, tmp_path: Path, model: refti.Model, name: str
    ):
        (tmp_path / name).write_text("mine")
        with pytest.raises(refti.StoreError, match="holds no refti run"):
            refti.evidence(model, **SETTINGS, store=tmp_path, progress=_must_not_run)
        assert contents(tmp_path) == {name: b"mine"}

    def test_a_file_is_no_directory(self, tmp_path: Path, model: refti.Model):
        (tmp_path / "file").write_text("mine")
        with pytest.raises(refti.StoreError):
            refti.evidence(model, **SETTINGS, store=tmp_path / "file", progress=_must_not_run)

    def test_an_empty_directory_is_used(self, tmp_path: Path, model: refti.Model, result):
        found = refti.evidence(model, **SETTINGS, store=tmp_path)
        assert found.value == result.value

    def test_bad_input_leaves_no_directory(self, tmp_path: Path, model: refti.Model):
        with pytest.raises(refti.SettingsError):
            refti.evidence(model, seed=-1, store=tmp_path / "run")
        with pytest.raises(refti.PathError):
            refti.evidence(model, path="power", store=tmp_path / "run")
        assert not (tmp_path / "run").exists()


def test_a_model_that_fails_its_preflight_leaves_no_run_behind(tmp_path: Path):
    broken = refti.Model(lambda x: jnp.sum(x) * jnp.nan, dim=2)
    with pytest.raises(refti.ModelError, match="not finite"):
        refti.evidence(broken, **SETTINGS, store=tmp_path / "run")
    assert not (tmp_path / "run").exists()
