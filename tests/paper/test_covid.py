"""The renewal model is the paper's in all its variants, and its priors are normalised."""

from __future__ import annotations

from datetime import date
from functools import cache
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats
from scipy.integrate import dblquad, quad

import refti
from refti.paper.covid import model as covid
from refti.paper.covid import priors, renewal
from refti.paper.covid.cases import Cases, read_cases, south_korea
from refti.paper.covid.negative_binomial import Counts

pytestmark = pytest.mark.usefixtures("x64")

SHORT = Cases(date(2020, 2, 1), np.array([0] * 9 + [1, 0, 3, 2, 0, 7, 5, 12, 9, 30, 21, 17] * 2))


@cache
def model(name: str, *, printed: bool = False) -> refti.Model:
    chosen = covid.variant_as_printed(name) if printed else covid.variant(name)
    return covid.model(chosen, SHORT)


# As many in every test, so that a model's density is compiled once.
POINTS = 8


def points(of: refti.Model) -> np.ndarray:
    return of.start + 0.3 * np.random.default_rng(3).normal(size=(POINTS, of.dim))


def log_densities_at_two(of: refti.Model, x: np.ndarray) -> np.ndarray:
    return of.log_densities(np.repeat(x, POINTS // 2, axis=0))[:: POINTS // 2]


def log_likelihoods(of: refti.Model, x: np.ndarray) -> np.ndarray:
    return of.log_densities(x) - of.prior_alone().log_densities(x)


def day_by_day(reproduction: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """The renewal equation as it is written, in NumPy."""
    cases = np.zeros(len(reproduction))
    for t in range(len(cases)):
        cases[t] = 1e-5 + reproduction[t] * (cases[:t] @ weights[:t][::-1])
    return cases


def plain_cases(reproduction: jax.Array, weights: jax.Array) -> jax.Array:
    """The renewal equation day by day, each day's sum over all days before."""
    days = len(reproduction)
    lag = np.arange(days)[:, None] - np.arange(days)
    past = jnp.where(lag > 0, weights[np.maximum(lag - 1, 0)], 0.0)

    def day(cases: jax.Array, t: jax.Array) -> tuple[jax.Array, jax.Array]:
        today = 1e-5 + reproduction[t] * (past[t] @ cases)
        return cases.at[t].set(today), today

    return jax.lax.scan(day, jnp.zeros(days), jnp.arange(days))[1]


def test_the_paper_has_sixteen_variants_of_36_to_210_parameters():
    expected = {f"GI={k}": 207 for k in (5, 6, 6.5, 7, 8, 9, 10, 20)}
    expected |= {"AR(2)": 208, "AR(3)": 209, "AR(4)": 210}
    expected |= {"W=1": 208, "W=2": 108, "W=3": 74, "W=4": 58, "W=7": 36}
    assert {name: covid.model(each).dim for name, each in covid.VARIANTS.items()} == expected


def test_the_printed_numbers_belong_to_two_lengths_of_data():
    dims = [covid.model(covid.variant_as_printed(name)).dim for name in ("GI=8", "GI=9")]
    assert dims == [207 - 18, 207]
    assert south_korea().days[183 - 1] == date(2020, 6, 30)
    assert [prior.mean for prior in covid.variant_as_printed("AR(4)").coefficients][:2] == [
        0.05,
        0.8,
    ]


def test_an_unknown_variant_is_told_with_the_known_ones():
    with pytest.raises(refti.ModelError, match=r"'AR\(5\)'; expected one of GI=5, .*W=7"):
        covid.variant("AR(5)")


@pytest.mark.parametrize("days", [40, 83])  # of whole blocks, and not
def test_the_renewal_equation_and_its_gradient_are_those_of_the_plain_recursion(days: int):
    rng = np.random.default_rng(1)
    reproduction = jnp.asarray(np.exp(0.5 * rng.normal(size=days)))
    scores = rng.normal(size=days)

    def fast(reproduction: jax.Array, rate: jax.Array) -> jax.Array:
        return jnp.log(renewal.expected_cases(reproduction, rate, lags=days)) @ scores

    def plain(reproduction: jax.Array, rate: jax.Array) -> jax.Array:
        return jnp.log(plain_cases(reproduction, renewal.interval_weights(rate, days))) @ scores

    at = (reproduction, jnp.asarray(0.013))
    value, slopes = jax.value_and_grad(fast, argnums=(0, 1))(*at)
    expected, expected_slopes = jax.jit(jax.value_and_grad(plain, argnums=(0, 1)))(*at)
    np.testing.assert_allclose(value, expected, rtol=1e-13)
    for slope, other in zip(slopes, expected_slopes, strict=True):
        np.testing.assert_allclose(slope, other, rtol=1e-11, atol=1e-12 * np.abs(other).max())


@pytest.mark.parametrize("mean", covid.GENERATION_INTERVALS)
def test_the_lags_left_out_change_nothing_even_behind_a_peak(mean: float):
    rate = renewal.rate_of_mean(mean)
    lags = renewal.lags_that_count(rate, 201)
    # A peak of about a million cases, after which almost nothing is left.
    reproduction = jnp.asarray(np.where(np.arange(201) < 90, 25.0 ** (mean / 9), 0.05))
    cut, full = (
        renewal.expected_cases(reproduction, jnp.asarray(rate), lags=n) for n in (lags, 201)
    )
    assert full.max() > 1e5
    np.testing.assert_allclose(cut, full, rtol=1e-14)


def test_a_mean_interval_of_six_days_has_weights_of_that_mean():
    weights = np.asarray(renewal.interval_weights(jnp.asarray(renewal.rate_of_mean(6)), 201))
    rayleigh = stats.rayleigh(scale=6 * np.sqrt(2 / np.pi))
    np.testing.assert_allclose(weights[4], rayleigh.cdf(5.5) - rayleigh.cdf(4.5), rtol=1e-12)
    assert rayleigh.mean() == pytest.approx(6)


@pytest.mark.parametrize("phi", [1e-3, 0.7, 5.0, 300.0])
@pytest.mark.parametrize("scale", [0, 1, 20])
def test_the_likelihood_of_counts_is_that_of_scipy(phi: float, scale: int):
    counts = scale * south_korea().counts
    mean = np.exp(np.random.default_rng(0).normal(2, 1, len(counts)))
    value = Counts.of(counts).log_likelihood(jnp.asarray(mean), jnp.asarray(phi))
    expected = stats.nbinom.logpmf(counts, phi, phi / (phi + mean)).sum()
    np.testing.assert_allclose(value, expected, rtol=1e-11)


@pytest.mark.parametrize("name", ["GI=20", "AR(4)", "W=7"])
def test_the_likelihood_is_the_one_written_in_the_paper(name: str):
    chosen, of = covid.variant(name), model(name)
    x = points(of)
    for values, value in zip(map(of.constrain, x), log_likelihoods(of, x), strict=True):
        day = np.arange(1, len(SHORT) + 1)
        number = np.exp(np.asarray(values["eps"])[np.ceil(day / chosen.window).astype(int) - 1])
        k = chosen.generation_interval
        rate = values["r"] if k is None else 1 / (2 * (np.sqrt(2 / np.pi) * k) ** 2)
        weights = np.exp(-((day - 0.5) ** 2) * rate) - np.exp(-((day + 0.5) ** 2) * rate)
        mean = day_by_day(number, weights)
        phi = float(values["phi"])
        expected = stats.nbinom.logpmf(SHORT.counts, phi, phi / (phi + mean)).sum()
        np.testing.assert_allclose(value, expected, rtol=1e-11)


def test_a_window_of_one_day_is_the_same_density_as_ar2():
    x = points(model("W=1"))
    values = model("W=1").log_densities(x)
    assert np.isfinite(values).sum() >= POINTS // 2
    np.testing.assert_array_equal(values, model("AR(2)").log_densities(x))


def test_variants_that_differ_in_a_number_share_their_programs():
    programs = {name: covid.model(covid.variant(name)).density for name in ("GI=8", "GI=10")}
    first, second = ([f.program for f in each.factors] for each in programs.values())
    assert first == second


@pytest.mark.parametrize(
    ("name", "printed"),
    [
        *(("W=7", False), ("AR(4)", True)),
        *(pytest.param(n, False, marks=pytest.mark.long) for n in ("GI=20", "AR(2)", "AR(4)")),
    ],
)
def test_the_prior_integrates_to_one_or_to_the_mass_that_is_missing(name: str, printed: bool):
    # Hyperparameters are drawn from wider normals and ε from the process itself, by NumPy; the
    # mean of prior over proposal is the integral. Fixed seed; |z| > 4 is a false alarm of 6e-5.
    chosen = covid.variant_as_printed(name) if printed else covid.variant(name)
    of, rng, count = model(name, printed=printed), np.random.default_rng(7), 40_000
    drawn = _hyperparameters(chosen, rng, count)
    log_proposal = drawn.pop("log_density")
    kept = np.all(drawn["rho"] > 0, axis=1) & np.all(drawn["rho"] < 1, axis=1)
    kept &= np.all([drawn[k] > 0 for k in drawn if k != "rho"], axis=0)
    scale = drawn["sigma"].copy()
    if chosen.order == 2:
        first, second = drawn["rho"].T
        with np.errstate(invalid="ignore", divide="ignore"):
            scale *= np.sqrt(1 - first**2 - second**2 - 2 * first**2 * second / (1 - second))
        kept &= np.isfinite(scale)
    eps, log_process = _process(drawn["rho"], scale, of.parameters["eps"].shape[0], rng)
    values = {key: value[kept] for key, value in (drawn | {"eps": eps}).items()}
    x = of.space.unconstrain_all(values)
    jacobian = sum(np.log(values[k]) for k in drawn if k != "rho")
    jacobian = jacobian + np.log(values["rho"] * (1 - values["rho"])).sum(axis=1)
    ratios = np.zeros(count)
    ratios[kept] = np.exp(
        of.prior_alone().log_densities(x) - jacobian - (log_proposal + log_process)[kept]
    )
    expected = np.exp(covid.log_prior_mass(chosen)) if printed else 1.0
    error = ratios.std() / np.sqrt(count)
    assert error < 0.02 * expected
    assert abs(ratios.mean() - expected) < 4 * error


def _hyperparameters(
    chosen: covid.Variant, rng: np.random.Generator, count: int
) -> dict[str, np.ndarray]:
    """Draws from normals a little wider than the priors, with their log density."""
    normals = {"sigma": (0.0, 0.2), "phi": (0.0, 5.0), "R0": (3.28, 1.0)}
    if chosen.generation_interval is None:
        normals["r"] = (0.01, 0.001)
    drawn, log_density = {}, np.zeros(count)
    for name, (mean, scale) in normals.items():
        wide = stats.norm(mean, 1.2 * scale)
        drawn[name] = wide.rvs(count, random_state=rng)
        log_density += wide.logpdf(drawn[name])
    others = [0.1] if chosen.order == 2 else [0.05] * (chosen.order - 1)
    means = np.insert(others, chosen.strong_lag - 1, 0.8)
    wide = stats.norm(means, 0.06)
    drawn["rho"] = wide.rvs((count, chosen.order), random_state=rng)
    return drawn | {"log_density": log_density + wide.logpdf(drawn["rho"]).sum(axis=1)}


def _process(
    rho: np.ndarray, scale: np.ndarray, length: int, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """Draws of the autoregressive process, with their log density."""
    order, noise = rho.shape[1], rng.normal(size=(len(rho), length))
    eps, log_density = np.zeros_like(noise), np.zeros(len(rho))
    for t in range(length):
        spread = 0.1 * np.ones_like(scale) if t == 0 else scale
        mean = -1.0 if t < order else np.sum(rho * eps[:, t - order : t][:, ::-1], axis=1)
        eps[:, t] = mean + spread * noise[:, t]
        with np.errstate(invalid="ignore", divide="ignore"):
            log_density += stats.norm.logpdf(noise[:, t]) - np.log(spread)
    return eps, log_density


def test_the_stationary_share_and_the_masses_are_those_of_quadrature():
    share = priors.stationary_share(covid.STRONG, covid.SECOND)
    first, second = stats.norm(0.8, 0.05), stats.norm(0.1, 0.05)
    inside, _ = dblquad(
        lambda b, a: first.pdf(a) * second.pdf(b), 0.3, 1, 0, lambda a: min(1 - a, 0.7)
    )
    mass = quad(first.pdf, 0, 1, points=[0.8])[0] * quad(second.pdf, 0, 1, points=[0.1])[0]
    assert share == pytest.approx(inside / mass, rel=1e-6)
    assert share == pytest.approx(0.92, abs=0.005)
    assert covid.PHI.mass == pytest.approx(0.5, rel=1e-14)


def test_the_density_is_zero_where_ar2_is_not_stationary():
    of = model("AR(2)")
    values = {name: np.asarray(value) for name, value in of.constrain(of.start).items()}
    edges = [of.unconstrain(values | {"rho": np.array([0.8, b])}) for b in (0.199, 0.201)]
    inside, outside = log_densities_at_two(of, np.stack(edges))
    assert np.isfinite(inside)
    assert outside == -np.inf


@pytest.mark.parametrize("name", ["GI=20", "AR(4)"])
def test_the_compiled_gradient_is_that_of_central_differences(name: str):
    of = model(name)
    x, direction = of.start, np.random.default_rng(5).choice([-1.0, 1.0], of.dim)
    slope = jax.jit(jax.grad(of.density.log_density))(jnp.asarray(x)) @ direction
    up, down = log_densities_at_two(of, x + 1e-5 * np.array([[1], [-1]]) * direction)
    assert float(slope) == pytest.approx((up - down) / 2e-5, rel=1e-6)


def test_a_series_of_zeros_has_a_finite_density():
    of = covid.model(covid.variant("W=7"), Cases(date(2020, 1, 1), np.zeros(40, dtype=int)))
    assert np.isfinite(of.log_densities(of.start[None])).all()


def test_the_cases_of_south_korea_are_those_of_the_paper():
    cases = south_korea()
    assert (len(cases), cases.counts.sum(), cases.counts.max()) == (201, 13711, 909)
    assert (cases.days[0], cases.days[-1]) == (date(2019, 12, 31), date(2020, 7, 18))


def _rows(**changed: str) -> list[str]:
    """Forty good rows with some changed, by row in the file, as in r4="2020-01-03,x"."""
    rows = ["date,cases", *(f"{date.fromordinal(737425 + t)},{t % 5}" for t in range(40))]
    for row, text in changed.items():
        rows[int(row[1:]) - 1] = text
    return rows


@pytest.mark.parametrize(
    ("rows", "words"),
    [
        (_rows(r4="2020-01-03,-2"), ["row 4", "cannot be -2"]),
        (_rows(r4="2020-01-03,"), ["row 4", "missing"]),
        (_rows(r4="2020-01-03"), ["row 4", "missing"]),
        (_rows(r4="2020-01-03,nan"), ["row 4", "missing"]),
        (_rows(r4="2020-01-03,2.5"), ["row 4", "cannot be 2.5"]),
        (_rows(r4="2020-01-03,inf"), ["row 4", "cannot be inf"]),
        (_rows(r4="2020-01-03,many"), ["row 4", "'many'"]),
        (_rows(r4="3 January,1"), ["row 4", "YYYY-MM-DD", "'3 January'"]),
        (_rows(r4="2020-01-04,1", r5="2020-01-03,1"), ["row 5", "2020-01-03 is out of order"]),
        (_rows(r4="2020-01-02,1"), ["row 4", "2020-01-02 is out of order"]),
        (_rows(r41="2020-02-11,1"), ["row 41", "leaves days out", "2020-02-08"]),
        (_rows()[:30], ["at least 30 days", "got 29"]),
        (_rows()[:1], ["at least 30 days", "got 0"]),
        ([], ["row 1", "date,cases"]),
        (["day;cases"], ["row 1", "day;cases"]),
        (_rows(r3="2020-01-02,x", r9="2020-01-08,-1"), ["row 3", "row 9"]),
    ],
)
def test_a_series_that_cannot_be_used_is_refused_with_its_row(
    tmp_path: Path, rows: list[str], words: list[str]
):
    file = tmp_path / "cases.csv"
    file.write_text("\n".join(rows))
    with pytest.raises(refti.ModelError) as told:
        read_cases(file)
    assert [word for word in [*words, str(file)] if word not in str(told.value)] == []


def test_many_faults_are_told_in_part(tmp_path: Path):
    file = tmp_path / "cases.csv"
    file.write_text(
        "\n".join(row.replace(",", ",-1") for row in _rows()).replace("date,-1", "date,")
    )
    with pytest.raises(refti.ModelError, match="and 30 more"):
        read_cases(file)


def test_a_file_that_is_not_there_or_is_no_text_is_refused(tmp_path: Path):
    with pytest.raises(refti.ModelError, match="cannot be read"):
        read_cases(tmp_path / "none.csv")
    (tmp_path / "image.csv").write_bytes(b"\x89PNG\xff")
    with pytest.raises(refti.ModelError, match="UTF-8"):
        read_cases(tmp_path / "image.csv")


def test_zeros_other_columns_and_marks_of_spreadsheets_are_read(tmp_path: Path):
    file = tmp_path / "cases.csv"
    lines = ["\ufeffregion, Cases,DATE", *(f"x,0.0,{row[:10]}" for row in _rows()[1:]), "", ""]
    file.write_text("\r\n".join(lines), encoding="utf-8")
    cases = read_cases(file)
    assert cases.first == date(2020, 1, 1)
    np.testing.assert_array_equal(cases.counts, np.zeros(40))
