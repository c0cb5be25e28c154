"""Posterior draws as other programs keep them: in memory, in netCDF, in CmdStan's CSV files."""

from __future__ import annotations

from math import log, pi
from pathlib import Path
from types import MappingProxyType
from typing import Any

import jax.numpy as jnp
import numpy as np
import pytest
import xarray
from click.testing import CliRunner

import refti
from refti.cli.main import commands
from refti.inputs.posterior.formats import read_draws

rng = np.random.default_rng(5)
DRAWS = {
    "sigma": rng.lognormal(size=(2, 150)),
    "theta": rng.normal(size=(2, 150, 3)),
    "factor": rng.normal(size=(2, 150, 2, 3)),
}
EXTRA = {"generated": rng.normal(size=(2, 150, 4))}
NAMES = list(DRAWS)
OWN = {"mu": 1 + rng.normal(size=(2, 400, 2)), "sigma": rng.exponential(size=(2, 400))}
OWN_EXTRA = {"generated": rng.normal(size=(2, 400, 4))}
SETTINGS: dict[str, Any] = {"chains": 4, "warmup": 200, "kept": 200, "progress": False}

CONFIGURATION = """\
# stan_version_major = 2
# stan_version_minor = 35
# model = example_model
# start_datetime = 2024-05-01 10:00:00 UTC
# method = {method} (Default)
#   sample
#     num_samples = 150
#     num_warmup = {warmup}
#     save_warmup = {save_warmup}
#     thin = {thin}
# random
#   seed = 1234
"""
ADAPTATION = """\
# Adaptation terminated
# Step size = 0.809818
# Diagonal elements of inverse mass matrix:
# 0.961989, 1.03
"""
TIMES = """\
#
#  Elapsed Time: 0.005 seconds (Warm-up)
#                0.013 seconds (Sampling)
#
"""


def dataset(draws: dict[str, np.ndarray]) -> xarray.Dataset:
    return xarray.Dataset(
        {
            name: (("chain", "draw", *(f"{name}_{i}" for i in range(v.ndim - 2))), v)
            for name, v in draws.items()
        }
    )


def columns(draws: dict[str, np.ndarray], *, old: bool = False) -> dict[str, np.ndarray]:
    """Columns [chain, draw] by name, matrices by columns, as CmdStan writes them."""
    found = {}
    for name, values in draws.items():
        for index in np.ndindex(values.shape[:1:-1]):  # the first index runs fastest
            index = index[::-1]
            ones = [str(i + 1) for i in index]
            label = f"{name}[{','.join(ones)}]" if old and ones else ".".join([name, *ones])
            found[label] = values[:, :, *index]
    return found


def write(
    file: Path,
    draws: dict[str, np.ndarray],
    chain: int,
    *,
    old: bool = False,
    warm: int = 0,
    adaptation: str = ADAPTATION,
    method: str = "sample",
    thin: int = 1,
) -> Path:
    """A file as CmdStan's, of which the first rows are warm-up, if it is to be kept."""
    table = columns(draws, old=old)
    rows = np.stack([column[chain] for column in table.values()], axis=1)
    sampler = "lp__,accept_stat__,stepsize__,treedepth__,n_leapfrog__,divergent__,energy__"
    lines = ["-7.1,0.9,0.8,2,3,0,8.2," + ",".join(map(repr, row.tolist())) for row in rows]
    configuration = CONFIGURATION.format(
        method=method, warmup=warm * thin or 1000, save_warmup=int(warm > 0), thin=thin
    )
    file.write_text(
        configuration
        + ",".join([sampler, *table])
        + "\n"
        + "".join(f"{line}\n" for line in lines[:warm])
        + adaptation
        + "".join(f"{line}\n" for line in lines[warm:])
        + TIMES
    )
    return file


def assert_same(found: dict[str, np.ndarray], expected: dict[str, np.ndarray] = DRAWS) -> None:
    assert list(found) == list(expected)
    for name, values in expected.items():
        assert found[name].dtype == np.float64
        np.testing.assert_array_equal(found[name], values)


class TestInMemory:
    """What ArviZ, xarray and plain Python hold."""

    def test_a_dictionary(self):
        assert_same(read_draws(DRAWS | EXTRA, NAMES))
        assert_same(read_draws(MappingProxyType(DRAWS | EXTRA), NAMES))

    def test_a_dataset_whatever_the_order_of_its_dimensions(self):
        assert_same(read_draws(dataset(DRAWS | EXTRA), NAMES))
        turned = dataset(DRAWS).transpose(..., "draw", "chain")
        assert turned["theta"].dims[-1] == "chain"
        assert_same(read_draws(turned, NAMES))

    def test_chains_stacked_into_samples(self):
        stacked = dataset(DRAWS).stack(sample=("chain", "draw"))
        assert stacked["theta"].dims == ("theta_0", "sample")
        flat = {name: v.reshape(300, *v.shape[2:]) for name, v in DRAWS.items()}
        assert_same(read_draws(stacked, NAMES), flat)

    def test_inference_data(self):
        arviz = pytest.importorskip("arviz")
        data = arviz.from_dict(posterior=DRAWS | EXTRA, prior={"sigma": np.zeros((1, 5))})
        assert_same(read_draws(data, NAMES))
        with pytest.raises(refti.ModelError, match=r'no group "posterior"; got .* with prior'):
            read_draws(arviz.from_dict(prior=DRAWS), NAMES)

    def test_a_data_tree_or_its_posterior(self):
        tree = xarray.DataTree.from_dict({"posterior": dataset(DRAWS), "prior": dataset(EXTRA)})
        assert_same(read_draws(tree, NAMES))
        assert_same(read_draws(tree["posterior"], NAMES))
        other = xarray.DataTree.from_dict({"prior": dataset(DRAWS)})
        with pytest.raises(refti.ModelError, match='no group "posterior"; got a DataTree'):
            read_draws(other, NAMES)

    @pytest.mark.parametrize("wrap", [dict, dataset])
    def test_what_is_missing_is_told_with_what_is_there(self, wrap):
        with pytest.raises(refti.ModelError, match="tau, rho missing, got sigma, theta, factor"):
            read_draws(wrap(DRAWS), ["tau", "sigma", "rho"])

    @pytest.mark.parametrize("wrong", [3, [1.0, 2.0], [], np.zeros((4, 2)), object()])
    def test_anything_else_is_refused(self, wrong):
        with pytest.raises(refti.ModelError, match=r"draws= must be a dictionary .* got "):
            read_draws(wrong, NAMES)

    def test_what_is_no_number_is_refused_by_name(self):
        with pytest.raises(refti.ModelError, match='"theta" as list; expected an array'):
            read_draws(DRAWS | {"theta": ["high", "low"]}, NAMES)


class TestNetCDF:
    """Files of InferenceData and DataTree, read without ArviZ."""

    def test_a_file_of_inference_data(self, tmp_path: Path):
        arviz = pytest.importorskip("arviz")
        data = arviz.from_dict(posterior=DRAWS | EXTRA, sample_stats={"lp": np.zeros((2, 150))})
        file = tmp_path / "fit.nc"
        data.to_netcdf(str(file), engine="h5netcdf")
        assert_same(read_draws(file, NAMES))
        assert_same(read_draws(str(file), NAMES))

    def test_a_file_of_a_data_tree(self, tmp_path: Path):
        tree = xarray.DataTree.from_dict({"posterior": dataset(DRAWS), "prior": dataset(EXTRA)})
        tree.to_netcdf(tmp_path / "fit.nc", engine="h5netcdf")
        assert_same(read_draws([tmp_path / "fit.nc"], NAMES))
        with pytest.raises(refti.ModelError, match=r"^fit.nc must hold .* tau missing, got sigma"):
            read_draws(tmp_path / "fit.nc", ["tau"])

    def test_files_that_cannot_be_read_are_told(self, tmp_path: Path):
        with pytest.raises(refti.ModelError, match="does not exist"):
            read_draws(tmp_path / "fit.nc", NAMES)
        dataset(DRAWS).to_netcdf(tmp_path / "flat.nc", engine="h5netcdf")
        with pytest.raises(refti.ModelError, match=r'flat.nc, of which the group "posterior"'):
            read_draws(tmp_path / "flat.nc", NAMES)
        (tmp_path / "text.nc").write_text("no netCDF")
        with pytest.raises(refti.ModelError, match="cannot be read"):
            read_draws(tmp_path / "text.nc", NAMES)
        (tmp_path / "fit.txt").write_text("1, 2")
        with pytest.raises(refti.ModelError, match=r"takes CSV files .* got fit\.txt"):
            read_draws(tmp_path / "fit.txt", NAMES)
        with pytest.raises(refti.ModelError, match=r"one file of .* got flat\.nc, text\.nc"):
            read_draws([tmp_path / "flat.nc", tmp_path / "text.nc"], NAMES)


class TestCmdStan:
    """CSV files, one per chain."""

    @pytest.mark.parametrize("old", [False, True])
    def test_chains_with_vectors_and_matrices(self, tmp_path: Path, old: bool):
        files = [write(tmp_path / f"{c}.csv", DRAWS | EXTRA, c, old=old) for c in (0, 1)]
        assert_same(read_draws(files, NAMES))
        one = {name: values[1:] for name, values in DRAWS.items()}
        assert_same(read_draws(str(files[1]), NAMES), one)

    @pytest.mark.parametrize(("adaptation", "thin"), [(ADAPTATION, 1), ("", 1), ("", 3)])
    def test_warm_up_that_was_kept_is_dropped(self, tmp_path: Path, adaptation: str, thin: int):
        file = tmp_path / "chain.csv"
        write(file, DRAWS, 0, warm=40, adaptation=adaptation, thin=thin)
        later = {name: values[:1, 40:] for name, values in DRAWS.items()}
        assert_same(read_draws(file, NAMES), later)

    def test_chains_of_different_lengths_are_joined(self, tmp_path: Path):
        short = {name: values[:, :70] for name, values in DRAWS.items()}
        files = [write(tmp_path / "a.csv", DRAWS, 0), write(tmp_path / "b.csv", short, 1)]
        joined = {n: np.concatenate([DRAWS[n][0], short[n][1]]) for n in NAMES}
        assert_same(read_draws(files, NAMES), joined)

    def test_what_is_missing_is_told_with_what_is_there(self, tmp_path: Path):
        file = write(tmp_path / "chain.csv", DRAWS | EXTRA, 0)
        words = r"^chain.csv must .* tau missing, got sigma, theta, factor, generated\.$"
        with pytest.raises(refti.ModelError, match=words):
            read_draws(file, ["tau"])

    @pytest.mark.parametrize("column", ["pair:1", "pair.1:2", "pair.real"])
    def test_tuples_and_complex_numbers_are_refused_if_wanted(self, tmp_path: Path, column: str):
        file = tmp_path / "chain.csv"
        file.write_text(f"lp__,mu,{column}\n-1,2,3\n-1,3,4\n")
        np.testing.assert_array_equal(read_draws(file, ["mu"])["mu"], [[2.0, 3.0]])
        with pytest.raises(refti.ModelError, match=f"{column}.*tuple or complex"):
            read_draws(file, ["pair"])

    def test_files_that_are_not_of_one_model_are_refused(self, tmp_path: Path):
        files = [write(tmp_path / "a.csv", DRAWS, 0), write(tmp_path / "b.csv", DRAWS | EXTRA, 1)]
        with pytest.raises(refti.ModelError, match=r"b\.csv has other columns than"):
            read_draws(files, NAMES)

    def test_other_methods_of_cmdstan_are_refused(self, tmp_path: Path):
        file = write(tmp_path / "chain.csv", DRAWS, 0, method="optimize")
        with pytest.raises(refti.ModelError, match="method optimize; expected posterior draws"):
            read_draws(file, NAMES)

    @pytest.mark.parametrize(
        ("text", "words"),
        [
            ("", "holds no draws"),
            ("mu\n", "holds no draws"),
            ("# save_warmup = 1\n# num_warmup = 2\nmu\n1\n2\n", "holds no draws"),
            ("mu,nu\n1,2\n3\n", "1 values in line 3; expected 2"),
            ("mu\n1\nhigh\n", "not a number for \"mu\": .*'high'"),
            ("mu.1,mu.3\n1,2\n", r'2 columns of "mu"; expected 3'),
        ],
    )
    def test_broken_files_are_told(self, tmp_path: Path, text: str, words: str):
        file = tmp_path / "chain.csv"
        file.write_text(text)
        with pytest.raises(refti.ModelError, match=words):
            read_draws(file, ["mu"])


class TestEvidence:
    """Draws of the model are used, those of another are refused."""

    model = refti.Model(
        lambda mu, sigma: -0.5 * jnp.sum((mu - 1.0) ** 2) - sigma,
        {"mu": refti.real(shape=(2,)), "sigma": refti.positive()},
    )
    exact = log(2 * pi)

    @pytest.fixture
    def files(self, tmp_path: Path) -> list[Path]:
        return [write(tmp_path / f"{chain}.csv", OWN | OWN_EXTRA, chain) for chain in (0, 1)]

    def test_from_every_form_is_the_same(self, files: list[Path], tmp_path: Path):
        tree = xarray.DataTree.from_dict({"posterior": dataset(OWN)})
        tree.to_netcdf(tmp_path / "fit.nc", engine="h5netcdf")
        forms = [OWN, tree, dataset(OWN), files, tmp_path / "fit.nc"]
        found = [refti.evidence(self.model, draws=form, **SETTINGS) for form in forms]
        assert abs(found[0].log_z - self.exact) < 4.5 * found[0].error
        assert {result.log_z for result in found} == {found[0].log_z}

    def test_draws_of_another_model_are_refused(self, tmp_path: Path):
        far = {"mu": OWN["mu"] + 30.0, "sigma": OWN["sigma"]}
        file = write(tmp_path / "chain.csv", far, 0)
        with pytest.raises(refti.ModelError, match="draws= are not draws of this model"):
            refti.evidence(self.model, draws=file, **SETTINGS)
        below = OWN | {"sigma": -OWN["sigma"]}
        with pytest.raises(refti.ModelError, match="not draws of this model: 'sigma' has values"):
            refti.evidence(self.model, draws=dataset(below), **SETTINGS)

    def test_draws_of_another_shape_are_refused(self):
        wide = OWN | {"mu": np.zeros((2, 400, 3))}
        with pytest.raises(refti.ModelError, match=r'"mu" the shape \(2, 400, 3\)'):
            refti.evidence(self.model, draws=dataset(wide), **SETTINGS)

    def test_on_the_command_line(self, files: list[Path], tmp_path: Path):
        script = tmp_path / "models.py"
        script.write_text(
            "import jax.numpy as jnp, refti\n"
            "supports = {'mu': refti.real(shape=(2,)), 'sigma': refti.positive()}\n"
            "def log_density(mu, sigma):\n"
            "    return -0.5 * jnp.sum((mu - 1.0) ** 2) - sigma\n"
            "model = refti.Model(log_density, supports)\n"
            "other = refti.Model(log_density, supports)\n"
        )
        options = ["--warmup", "200", "--kept", "200", "--chains", "4", "--quiet", "--json"]
        given = [part for file in files for part in ("--draws", str(file))]

        def run(*targets: str) -> Any:
            arguments = ["run", *targets, *options, *given]
            return CliRunner().invoke(commands, arguments, standalone_mode=False)

        done = run(f"{script}:model")
        assert done.exception is None
        same = refti.evidence(self.model, draws=files, **SETTINGS)
        assert f'"value": {same.value!r}' in done.output
        refused = run(f"{script}:model", f"{script}:other")
        assert isinstance(refused.exception, refti.SettingsError)
        assert "--draws are those of one model; got 2" in str(refused.exception)
