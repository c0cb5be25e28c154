"""Fits that exist: folders of CmdStan, fits of CmdStanPy and ArviZ's JSON."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

import refti
from refti.inputs.posterior.fits import find_fit
from refti.inputs.posterior.formats import read_draws


def write_chain(file: Path, first: float, draws: int = 3) -> None:
    lines = ["# method = sample", "lp__,accept_stat__,mu,theta.1,theta.2"]
    lines += [f"-1,0.9,{first + i},{i},{2 * i}" for i in range(draws)]
    file.write_text("\n".join(lines) + "\n")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """What CmdStanPy leaves: chains, their consoles, settings, a metric and a profile."""
    for chain in (2, 10, 1):
        write_chain(tmp_path / f"model-20240101120000_{chain}.csv", 100.0 * chain)
        (tmp_path / f"model-20240101120000_{chain}-stdout.txt").write_text("")
    (tmp_path / "model-20240101120000_1_config.json").write_text("{}")
    (tmp_path / "model-20240101120000_metric_1.csv").write_text("inv_metric\n1\n")
    (tmp_path / "profile.csv").write_text("name,thread_id,total_time\nx,1,2\n")
    return tmp_path


def test_a_folder_is_its_chains_in_order(folder: Path):
    held = read_draws(folder, ["mu", "theta"])
    np.testing.assert_array_equal(held["mu"][:, 0], [100, 200, 1000])
    assert held["theta"].shape == (3, 3, 2)


def test_a_fit_of_cmdstanpy_is_its_files(folder: Path):
    # What CmdStanPy's CmdStanMCMC has: it needs CmdStan itself, which is not on the package index.
    files = sorted(map(str, folder.glob("model-20240101120000_[12].csv")))
    fit = SimpleNamespace(runset=SimpleNamespace(csv_files=files))
    assert find_fit(fit) == [Path(file) for file in files]
    np.testing.assert_array_equal(read_draws(fit, ["mu"])["mu"][:, 0], [100, 200])


def test_names_of_cmdstanr_are_one_fit(tmp_path: Path):
    for chain, end in ((1, "6c8f3a"), (2, "6c8f3a")):
        write_chain(tmp_path / f"schools-202401011200-{chain}-{end}.csv", chain)
    assert len(find_fit(tmp_path) or []) == 2


def test_a_folder_of_two_fits_or_none_is_refused(folder: Path, tmp_path: Path):
    write_chain(folder / "other-20240102120000_1.csv", 1.0)
    with pytest.raises(refti.ModelError, match=r"draws of 2 fits: model.*, other.*Give the files"):
        find_fit(folder)
    (tmp_path / "empty").mkdir()
    with pytest.raises(refti.ModelError, match=r"holds no draws of CmdStan.*output_dir="):
        find_fit(tmp_path / "empty")


def test_arviz_json(tmp_path: Path):
    file = tmp_path / "fit.json"
    file.write_text(json.dumps({"posterior": {"mu": [[1.0, 2.0], [3.0, 4.0]]}, "attrs": {}}))
    np.testing.assert_array_equal(read_draws(file, ["mu"])["mu"], [[1, 2], [3, 4]])
    file.write_text(json.dumps([1, 2]))
    with pytest.raises(refti.ModelError, match=r'group "posterior" cannot be read'):
        read_draws(file, ["mu"])
