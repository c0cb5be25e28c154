"""Choice: calibrated model probabilities pass, biased and noisy ones do not.

Seeds are fixed, so that nothing here fails by chance; where a rate is compared, the margin says
how far it may stray.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

import refti
from made_up_runs import TINY, a_run
from refti.calibrate import choice, probabilities
from refti.calibrate.runs import Run, run_job


class TestChoice:
    """Calibration of model probabilities."""

    def runs(self, data_sets: int, spoil: float = 0.0) -> list[Run]:
        """Runs that gave the exact evidence, but for one of the models."""
        found = []
        for job in choice.jobs(data_sets, {}):
            truth = choice.target(job).log_z
            log_z = truth + (spoil if job.target == "second" else 0.0)
            found.append(replace(a_run(), job=job, truth=truth, log_z=log_z))
        return found

    def test_exact_evidences_pass_and_controls_are_rejected(self):
        found = choice.study(self.runs(500))
        verdicts = {name: one.passes for name, one in found.verdicts.items()}
        assert verdicts == {"exact": True, "estimated": True, "bias": False, "noise": False}
        assert found.passes
        assert found.largest_difference == 0
        # Nine tests share a false-alarm rate of 1 %.
        assert len(found.verdicts["exact"].tests) == 9
        assert found.verdicts["exact"].critical == pytest.approx(stats.norm.isf(0.01 / 18))
        words = choice.text(found).splitlines()
        assert words[0].startswith("Calibrated, and both controls are rejected: 500 data sets")
        assert max(map(len, words)) <= 80

    def test_biased_estimates_fail(self):
        found = choice.study(self.runs(500, spoil=0.69))
        assert not found.verdicts["estimated"].passes
        assert found.verdicts["exact"].passes
        assert not found.passes
        assert found.largest_difference > 0.1

    def test_noise_is_found_by_the_slope_and_bias_by_the_means(self):
        verdicts = choice.study(self.runs(500)).verdicts
        assert verdicts["noise"].worst.law == "slope"
        assert verdicts["bias"].worst.law in ("mean", "symmetry")

    def test_power_and_false_alarms(self):
        # Over 1,000 studies both controls were rejected every time.
        rates = choice.rejections(500, 25)
        assert rates["bias"] == rates["noise"] == 1
        assert rates["exact"] <= 2 / 25

    def test_each_law_is_a_standard_normal(self):
        """Moments of every test over 75 studies; margins of 4.5 standard errors."""
        scores = []
        for study in range(75):
            data = [choice.data_set(10**6 + 200 * study + i) for i in range(200)]
            log_z = np.array([one.log_z for one in data])
            drawn = np.array([one.drawn for one in data])
            tests = probabilities.verdict(log_z, drawn, choice.PRIOR).tests
            scores.append([test.z for test in tests])
        assert np.all(np.abs(np.mean(scores, axis=0)) < 4.5 / math.sqrt(75))
        assert np.all(np.abs(np.var(scores, axis=0) - 1) < 4.5 * math.sqrt(2 / 75))

    def test_data_sets_with_a_refused_model_are_left_out(self):
        runs = self.runs(10)
        runs[3] = replace(runs[3], log_z=math.nan, message="SamplingError: nothing")
        found = choice.study(runs)
        assert (found.data_sets, found.left_out) == (9, 1)
        with pytest.raises(refti.CompareError, match="two data sets"):
            choice.study(runs[:3])

    def test_exact_evidence_is_the_density_of_the_responses(self):
        data = choice.data_set(7)
        for index, columns in enumerate(choice.COLUMNS.values()):
            design = choice.covariates()[:, list(columns)]
            spread = design @ np.diag(choice.SCALE[list(columns)] ** 2) @ design.T
            mean = design @ choice.MEAN[list(columns)]
            shape = (spread + np.eye(30)) * choice.RATE / choice.SHAPE
            exact = stats.multivariate_t(mean, shape, df=2 * choice.SHAPE)
            assert data.log_z[index] == pytest.approx(exact.logpdf(data.responses), abs=1e-9)

    @pytest.mark.long  # test_evidence.py has models that differ in data
    def test_data_sets_share_one_program(self):
        jobs = choice.jobs(2, TINY)[:2]
        runs = [run_job(job, choice.target) for job in jobs]
        assert runs[1].programs == 0
        assert runs[0].truth != runs[1].truth
        # A Gaussian posterior: even a tiny run is within a few of its errors.
        assert max(abs(run.log_z - run.truth) for run in runs) < 0.2
