"""Any Python function has an evidence: its bad habits are refused, its calls counted and shared."""

import ctypes
import os
import subprocess
import sys
import threading
import time
import warnings
from concurrent.futures import ThreadPoolExecutor

import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats
from scipy.integrate import solve_ivp

import refti
from python_functions import (
    SCALES,
    always_raises,
    crashes_far_out,
    is_random,
    log_likelihood,
    log_prior,
    normal,
    writes,
)
from refti.inputs.python import workers
from refti.inputs.python.calls import Call
from refti.inputs.python.workers import Workers
from refti.sampling.evaluation_cache import EvaluationCache

LOG_Z = 1.5 + float(np.sum(np.log(SCALES)) + 1.5 * np.log(2 * np.pi))


@pytest.fixture
def ended():
    """Ends the processes of the models that a test puts into the list."""
    models: list[refti.Model] = []
    yield models
    for model in models:
        model.density.workers.close()


def evidence(model: refti.Model, **options):
    return refti.evidence(model, progress=False, **{"seed": 1, **options})


# Evidence


def test_the_evidence_of_a_function_and_the_number_of_its_calls():
    calls = []

    def counted(x: np.ndarray) -> float:
        calls.append(x)
        return normal(x)

    model = refti.from_callable(counted, dim=3, processes=1)
    before = len(calls)
    result = evidence(model)
    assert result.trusted, result.checks
    assert abs(result.log_z - LOG_Z) < 4 * result.error + 1e-3
    assert result.cost.gradient_evaluations == 0
    # Three points are asked for once more, beside the meter, to see whether they stay the same.
    assert result.cost.density_evaluations + 3 == len(calls) - before < 6000
    assert all(x.dtype == np.float64 and x.shape == (3,) for x in calls)
    assert result.settings["kernel"] == "elliptical"


@pytest.mark.parametrize(
    "name", ["cut_gaussian_nan", pytest.param("bimodal_2d_3sd_50", marks=pytest.mark.long)]
)
def test_the_evidence_of_targets_whose_truth_is_known(name: str):
    target = refti.suite.find(name)
    model = target.model()
    box = refti.from_callable(model.log_densities, dim=target.dim, vectorized=True)
    result = evidence(box, seed=2)
    assert result.trusted, result.checks
    assert abs(result.log_z - target.log_z) < 4 * result.error


@pytest.mark.long  # tests/search has modes by values alone
def test_two_modes_far_apart_are_both_found():
    target = refti.suite.find("bimodal_2d_10sd_90")
    box = refti.from_callable(target.model().log_densities, dim=2, vectorized=True)
    result = evidence(box, max_evaluations=100_000)
    assert result.found["modes"] == 2
    assert not result.trusted or abs(result.log_z - target.log_z) < 4 * result.error


SUPPORTS = {"mu": refti.real(), "sigma": refti.positive()}


def test_the_power_path_and_the_prior_of_functions_given_apart():
    model = refti.from_callable(
        parameters=SUPPORTS, log_prior=log_prior, log_likelihood=log_likelihood
    )
    whole = evidence(model, target_error=0.1)
    power = evidence(model, path="power", target_error=0.1, check_prior=False)
    assert whole.trusted, whole.checks
    assert power.trusted, power.checks
    assert abs(whole.log_z - power.log_z) < 4 * np.hypot(whole.error, power.error)
    assert [check.ok for check in whole.checks if check.name == "prior"] == [True]


def test_a_prior_that_lacks_a_constant_is_found_out():
    def half_normal(x: np.ndarray) -> float:
        return -0.5 * float(x @ x) - np.log(2 * np.pi) if x[0] > 0 else -np.inf

    asked = []

    def likelihood(x: np.ndarray) -> float:
        asked.append(x[0])
        return float(-0.5 * np.sum((x - 1) ** 2))

    model = refti.from_callable(
        dim=2, log_prior=half_normal, log_likelihood=likelihood, start=[1.0, 0.0], processes=1
    )
    result = evidence(model)
    assert [check.ok for check in result.checks if check.name == "prior"] == [False]
    # Where the prior is zero the likelihood is not asked; the border tries it by itself.
    assert min(asked[4:]) > 0


def test_a_ratio_of_a_black_box_and_a_model_in_jax():
    box = refti.from_callable(normal, dim=3)
    other = refti.Model(lambda x: -0.5 * jnp.sum(x**2), dim=3)
    ratio = refti.log_bayes_factor(box, other, seed=1, progress=False)
    assert ratio.trusted, ratio.checks
    assert abs(ratio.value - (LOG_Z - 1.5 * np.log(2 * np.pi))) < 4 * ratio.error


def test_what_needs_gradients_is_refused_at_once():
    box = refti.from_callable(normal, dim=3)
    for reference in ("variational", ["laplace", 4]):
        with pytest.raises(refti.SettingsError, match="without gradients"):
            refti.evidence(box, reference=reference)
    result = evidence(box, reference="laplace")
    assert abs(result.log_z - LOG_Z) < 4 * result.error + 1e-3


def test_the_calls_stay_within_max_evaluations():
    calls = []

    def counted(x: np.ndarray) -> float:
        calls.append(1)
        return normal(x)

    model = refti.from_callable(counted, dim=3, processes=1)
    before = len(calls)
    with pytest.raises(refti.SamplingError, match="raise max_evaluations="):
        evidence(model, max_evaluations=500)
    assert len(calls) - before <= 500 + 3
    before = len(calls)
    result = evidence(model, max_evaluations=5000, target_error=1e-5)
    assert not result.trusted
    assert len(calls) - before <= 5000 + 3
    assert abs(result.log_z - LOG_Z) < 4 * result.error + 1e-3


# Arguments


def test_named_parameters_have_their_jacobians_as_in_a_model_in_jax():
    supports = {
        "a": refti.positive(),
        "b": refti.interval(-1, 3, shape=(2,)),
        "c": refti.simplex(3),
    }

    def by_keyword(a, b, c):
        return -a - (b**2).sum() + 0.3 * c[0]

    def by_dictionary(p):
        return by_keyword(**p)

    x = np.random.default_rng(0).normal(size=(300, 5))
    expected = refti.Model(by_keyword, supports).log_densities(x)
    for function in (by_keyword, by_dictionary):
        values = refti.from_callable(function, supports).log_densities(x)
        assert np.allclose(values, expected, rtol=1e-12)


def test_a_vectorized_function_gets_all_points_at_once():
    shapes = set()

    def function(mu, sigma):
        shapes.add((np.shape(mu), np.shape(sigma)))
        return -(mu**2) - sigma

    model = refti.from_callable(function, SUPPORTS, vectorized=True, processes=1)
    x = np.random.default_rng(0).normal(size=(20, 2))
    values = model.log_densities(x)
    assert ((20,), (20,)) in shapes
    one_by_one = refti.from_callable(function, SUPPORTS).log_densities(x)
    assert np.array_equal(values, one_by_one)


# Bad input


@pytest.mark.parametrize(
    ("function", "said"),
    [
        (always_raises, "raised at all of 16 points.*RuntimeError: no such file"),
        (lambda x: x, r"one number; got the shape \(3,\)"),
        (lambda x: 1j, "real; got complex"),
        (lambda x: "1.0", "real; got str"),
        (lambda x: None, "real; got NoneType"),
        (is_random, "The density is random, or depends on earlier calls"),
        (writes, "changes its input"),
    ],
)
def test_a_function_that_cannot_be_a_density_is_refused_at_the_border(function, said: str):
    with pytest.raises(refti.ModelError, match=said):
        refti.from_callable(function, dim=3)


def test_a_vectorized_function_of_the_wrong_shape_is_refused():
    with pytest.raises(refti.ModelError, match="an array of 1 numbers"):
        refti.from_callable(lambda x: np.sum(x), dim=3, vectorized=True)


def test_a_function_that_is_nan_everywhere_is_refused_before_sampling():
    with pytest.raises(refti.ModelError, match="not finite at any of 32 start points"):
        evidence(refti.from_callable(lambda x: float("nan"), dim=2))


def test_chance_away_from_the_start_is_found_before_sampling():
    def function(x: np.ndarray) -> float:
        return normal(x) + (np.random.default_rng().normal() if x[0] != 0 else 0.0)

    with pytest.raises(
        refti.ModelError, match="The density is random, or depends on earlier calls"
    ):
        evidence(refti.from_callable(function, dim=3))


@pytest.mark.parametrize("processes", [0, 1.5, True])
def test_processes_are_a_whole_number(processes):
    with pytest.raises(refti.ModelError, match="processes="):
        refti.from_callable(normal, dim=3, processes=processes)


@pytest.mark.parametrize("other", [None, "far", np.zeros(3), 1j])
def test_what_is_no_number_at_some_points_is_a_rejection_and_ends_no_run(other):
    def function(x: np.ndarray) -> object:
        return normal(x) if x[0] < 8 else other

    model = refti.from_callable(function, dim=3, processes=1)
    values = model.log_densities(np.array([[0.0, 0.0, 0.0], [9.0, 0.0, 0.0]]))
    np.testing.assert_array_equal(np.isnan(values), [False, True])
    rejections = model.rejections()
    assert rejections is not None
    assert "must return one number" in rejections.message
    assert rejections.where == (9.0, 0.0, 0.0)


def test_threads_look_up_and_forget_what_is_paid_for(monkeypatch: pytest.MonkeyPatch):
    cache, x = EvaluationCache(most=50), np.arange(400.0)[:, None]

    def work(begin: int) -> None:
        for i in range(2000):
            rows = x[(begin + i) % 390 : (begin + i) % 390 + 10]
            known, values = cache.look_up("density", rows)
            np.testing.assert_array_equal(values[known], rows[known, 0])
            cache.keep("density", rows, rows[:, 0])

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(work, (0, 100, 200, 300)))
    assert cache.look_up("density", x)[0].sum() == 50


def test_points_at_which_the_function_raises_are_counted_and_located():
    def function(x: np.ndarray) -> float:
        if x[0] > 1:
            raise ValueError("beyond the table")
        return -0.5 * float(x @ x)

    model = refti.from_callable(function, dim=2)
    assert model.rejections() is None
    values = model.log_densities(np.array([[0.0, 0.0], [2.0, 1.0], [3.0, 0.0]]))
    assert np.array_equal(np.isnan(values), [False, True, True])
    rejections = model.rejections()
    assert rejections.count == 2
    assert rejections.where == (2.0, 1.0)
    assert rejections.message == "ValueError: beyond the table"
    result = evidence(model)
    assert abs(result.log_z - np.log(2 * np.pi * stats.norm.cdf(1))) < 4 * result.error


def test_one_bad_point_of_a_vectorized_batch_does_not_spoil_the_others():
    def function(x: np.ndarray) -> np.ndarray:
        if np.any(x > 1):
            raise ValueError("too large")
        return -x[:, 0]

    values = refti.from_callable(function, dim=1, vectorized=True).log_densities(
        np.array([[0.5], [2.0], [-1.0]])
    )
    assert np.array_equal(values, [-0.5, np.nan, 1.0], equal_nan=True)


# Processes


def test_a_slow_lambda_runs_in_other_processes(ended):
    offset = 3.0
    model = refti.from_callable(
        lambda x: (time.sleep(0.005), float(os.getpid()) * 0 + offset - x[0] ** 2)[1], dim=1
    )
    ended.append(model)
    assert model.density.workers.processes == (os.cpu_count() or 1)
    pids = refti.from_callable(lambda x: float(os.getpid()), dim=1, processes=2)
    ended.append(pids)
    x = np.linspace(-1, 1, 12)[:, None]
    assert np.array_equal(model.log_densities(x), 3.0 - x[:, 0] ** 2)
    assert os.getpid() not in set(pids.log_densities(x))


def test_a_function_that_calls_another_program(ended):
    def function(x: np.ndarray) -> float:
        code = f"print(-({float(x[0])!r}) ** 2)"
        done = subprocess.run([sys.executable, "-S", "-c", code], capture_output=True, text=True)
        return float(done.stdout)

    model = refti.from_callable(function, dim=1, processes=2)
    ended.append(model)
    x = np.array([[0.5], [1.5], [-2.0]])
    assert np.array_equal(model.log_densities(x), -(x[:, 0] ** 2))


def test_a_worker_that_was_killed_is_replaced(tmp_path, ended):
    mark = tmp_path / "killed"

    def function(x: np.ndarray) -> float:
        if x[0] > 5 and not mark.exists():
            mark.touch()
            os._exit(1)
        return float(x[0])

    model = refti.from_callable(function, dim=1, processes=2)
    ended.append(model)
    x = np.arange(8.0)[:, None]
    assert np.array_equal(model.log_densities(x), x[:, 0])
    assert mark.exists()


def test_a_function_that_kills_every_worker_is_told(ended):
    def function(x: np.ndarray) -> float:
        if x[0] > 5:
            os._exit(1)
        return float(x[0])

    model = refti.from_callable(function, dim=1, processes=2)
    ended.append(model)
    with pytest.raises(refti.ModelError, match="kills the processes it runs in"):
        model.log_densities(np.arange(8.0)[:, None])


def test_a_function_that_cannot_be_sent_runs_here_and_that_is_told_once():
    lock = threading.Lock()

    def function(x: np.ndarray) -> float:
        with lock:
            return float(x[0])

    model = refti.from_callable(function, dim=1, processes=2)
    x = np.arange(4.0)[:, None]
    with pytest.warns(UserWarning, match="cannot be sent to other processes"):
        assert np.array_equal(model.log_densities(x), x[:, 0])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert np.array_equal(model.log_densities(x), x[:, 0])


def test_the_time_of_a_call_decides_where_it_is_made():
    assert workers.choose_processes(None, 1e-5, False) == 1
    assert workers.choose_processes(None, 5e-3, False) == (os.cpu_count() or 1)
    assert workers.choose_processes(None, 5e-3, True) == 1
    assert workers.choose_processes(3, 1e-5, False) == 3


def test_calls_in_this_process_are_made_one_at_a_time():
    inside, most = [0], [0]

    def function(x: np.ndarray) -> float:
        inside[0] += 1
        most[0] = max(most[0], inside[0])
        time.sleep(1e-3)
        inside[0] -= 1
        return 0.0

    here = Workers(Call(function, "log_density", "vector", False), 1)
    threads = [threading.Thread(target=here, args=({"x": np.zeros((5, 1))},)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert most[0] == 1


# Safety


def test_a_quick_function_that_crashes_takes_nothing_along(ended):
    model = refti.from_callable(crashes_far_out, dim=3)
    ended.append(model)
    with pytest.raises(
        refti.ModelError, match=r"kills the processes it runs in \(killed by SIGSEGV"
    ):
        model.log_densities(np.array([[0.0, 0.0, 0.0], [2.0, 0.0, 0.0]]))
    assert model.log_densities(np.zeros((1, 3)))[0] == normal(np.zeros(3))


def test_a_function_that_crashes_at_once_is_told_at_once():
    with pytest.raises(refti.ModelError, match="killed by SIGSEGV"):
        refti.from_callable(lambda x: ctypes.string_at(0), dim=2)


def test_the_seconds_hold_though_a_call_hangs(ended):
    def hangs(x: np.ndarray) -> float:
        if x[0] > 0.9:
            time.sleep(10_000)
        return normal(x)

    model = refti.from_callable(hangs, dim=3)
    ended.append(model)
    with pytest.raises(
        refti.SamplingError, match=r"the 2 s of max_seconds= were spent.*raise max_s"
    ):
        evidence(model, max_seconds=2)


def test_nothing_is_left_behind_at_the_end_of_python():
    code = (
        "import refti, numpy as np, time\n"
        "f = lambda x: (time.sleep(2e-3), float(-x @ x))[1]\n"
        "model = refti.from_callable(f, dim=2)\n"
        "print(model.density.workers.beside, model.log_densities(np.zeros((4, 2))))\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stdout.startswith("True")
    assert done.stderr == ""


def test_a_density_that_no_chain_can_move_in_is_told():
    model = refti.from_callable(lambda x: 0.0 if np.all(x == 0) else -np.inf, dim=2, processes=1)
    with pytest.raises(
        refti.SamplingError, match=r"No chain could move along the coordinate 'x\[0"
    ):
        evidence(model)


TIMES = np.linspace(0.5, 6.0, 12)
SIZES = np.array([0.7, 1.0, 1.6, 2.2, 3.1, 4.2, 5.1, 5.9, 6.9, 7.3, 7.9, 8.3])


def growth_by_scipy(rate: float, limit: float) -> float:
    """The log density of a logistic growth that a solver of SciPy's follows from 0.5."""
    solved = solve_ivp(
        lambda t, n: rate * n * (1 - n / limit), (0, 6), [0.5], t_eval=TIMES, rtol=1e-6
    )
    return growth_log_density(rate, limit, solved.y[0])


def growth_log_density(rate, limit, sizes):
    prior = stats.expon.logpdf(rate) + stats.norm.logpdf(limit, 10, 2)
    return prior + stats.norm.logpdf(SIZES, sizes, 0.3).sum(axis=-1)


@pytest.mark.long
def test_the_evidence_of_an_equation_solved_by_scipy():
    rates, limits = np.meshgrid(np.linspace(0.4, 1.6, 401), np.linspace(4, 16, 401), indexing="ij")
    sizes = limits[..., None] / (
        1 + (limits[..., None] / 0.5 - 1) * np.exp(-rates[..., None] * TIMES)
    )
    exact = np.log(np.exp(growth_log_density(rates, limits, sizes)).sum() * 0.003 * 0.03)
    # Without bounds a search for modes would come to rates at which a solver crawls for minutes.
    supports = {"rate": refti.interval(0.01, 5), "limit": refti.interval(1, 30)}
    start = {"rate": 0.8, "limit": 9.0}
    model = refti.from_callable(growth_by_scipy, supports, start=start)
    result = evidence(model, target_error=np.float32(0.1))
    model.density.workers.close()
    assert result.trusted, result.checks
    assert abs(result.log_z - exact) < 4 * result.error
