"""Discrete sites of NumPyro models are summed out; names, plates and data are kept."""

from __future__ import annotations

from contextlib import nullcontext

import jax.numpy as jnp
import numpy as np
import numpyro
import numpyro.distributions as dist
import pytest
from numpyro.contrib.control_flow import scan
from scipy.special import logsumexp
from scipy.stats import norm

import refti

Y = np.array([-2.3, -1.1, -2.9, 1.8, 2.2, 0.1, 2.7])
CENTRES = jnp.array([-2.0, 2.0])


def means():
    return numpyro.sample("mu", dist.Normal(CENTRES, 1).to_event(1))


def mixture(y, marginal: bool) -> None:
    weight, mu = numpyro.sample("weight", dist.Beta(2, 3)), means()
    shares = jnp.array([1 - weight, weight])
    with numpyro.plate("observation", len(y)):
        if marginal:
            parts = dist.MixtureSameFamily(dist.Categorical(shares), dist.Normal(mu, 1))
            numpyro.sample("y", parts, obs=y)
        else:
            z = numpyro.sample("z", dist.Categorical(shares))
            numpyro.sample("y", dist.Normal(mu[z], 1), obs=y)


def test_a_mixture_by_indicators_is_the_mixture_without_them() -> None:
    summed, written = (refti.from_numpyro(mixture, Y, marginal) for marginal in (False, True))
    assert '"z" summed out' in summed.source
    assert list(summed.parameters) == ["weight", "mu"]
    x = np.random.default_rng(0).normal(size=(20, 3))
    np.testing.assert_allclose(summed.log_densities(x), written.log_densities(x), rtol=1e-12)
    for one, other in [(summed.prior_alone(), written.prior_alone())]:
        np.testing.assert_allclose(one.log_densities(x), other.log_densities(x), rtol=1e-12)


def hidden_states(y) -> None:
    leave = numpyro.sample("leave", dist.Beta(2, 5).expand([2]).to_event(1))
    mu = means()
    table = jnp.stack([jnp.array([1 - leave[0], leave[0]]), jnp.array([leave[1], 1 - leave[1]])])

    def step(state, now):
        state = numpyro.sample("state", dist.Categorical(table[state]))
        numpyro.sample("y", dist.Normal(mu[state], 1), obs=now)
        return state, None

    scan(step, 0, y)


def test_a_hidden_markov_model_is_summed_out_as_by_the_forward_algorithm() -> None:
    model = refti.from_numpyro(hidden_states, Y)
    x = np.random.default_rng(1).normal(size=4)
    values = {name: np.asarray(value) for name, value in model.constrain(x).items()}
    a, b = values["leave"]
    table = np.log([[1 - a, a], [b, 1 - b]])
    forward = table[0] + norm.logpdf(Y[0], values["mu"])
    for now in Y[1:]:
        forward = logsumexp(forward[:, None] + table, axis=0) + norm.logpdf(now, values["mu"])
    found = model.log_densities(x[None]) - model.prior_alone().log_densities(x[None])
    # NumPyro's scan carries its probabilities in 32 bits at one place.
    np.testing.assert_allclose(found[0], logsumexp(forward), rtol=1e-5)


def test_an_infinite_support_is_refused_by_name() -> None:
    def counts() -> None:
        k = numpyro.sample("k", dist.Poisson(numpyro.sample("rate", dist.Gamma(2, 1))))
        numpyro.sample("y", dist.Normal(k, 1), obs=1.0)

    with pytest.raises(refti.ModelError, match=r'"k" is discrete \(Poisson\).*sum "k" out'):
        refti.from_numpyro(counts)


def with_everything(y) -> None:
    mu = numpyro.sample("mu / mean", dist.Normal(0, 2))
    with numpyro.plate("group", 3):
        offset = numpyro.sample("offset", dist.Normal(0, 1))
        numpyro.deterministic("shifted", mu + offset)
        with numpyro.plate("repeat", 2):
            numpyro.sample("y", dist.Normal(mu + offset, 1), obs=y)


def test_plates_deterministics_and_data_are_in_the_result_and_its_files(tmp_path) -> None:
    y = np.arange(6.0).reshape(2, 3)
    result = refti.evidence(
        with_everything, args=(y,), check_prior=False, posterior_draws=1200, progress=False
    )
    posterior = result.posterior
    assert posterior.sizes["chain"] * posterior.sizes["draw"] == 1200
    assert posterior["offset"].dims == ("chain", "draw", "group")
    shifted = posterior["mu / mean"].values[..., None] + posterior["offset"].values
    np.testing.assert_allclose(posterior["shifted"].values, shifted, rtol=1e-12)
    each = result.groups["log_likelihood"]["y"]
    assert each.dims == ("chain", "draw", "repeat", "group")
    np.testing.assert_allclose(each.values, norm.logpdf(y, shifted[..., None, :]), rtol=1e-10)
    np.testing.assert_array_equal(result.groups["observed_data"]["y"], y)
    result.save(tmp_path / "run")
    assert refti.load(tmp_path / "run").posterior.identical(posterior)


CAPTURES = np.array(
    [
        [1, 1, 0, 1, 0, 0],
        [0, 1, 0, 0, 0, 0],
        [0, 0, 1, 1, 1, 1],
        [1, 0, 0, 1, 1, 0],
        [0, 0, 0, 0, 1, 0],
    ]
)


def captured_again(captures, masked_states: bool) -> None:
    """Which animals live is summed out; that state is of 32 bits, as in NumPyro's example."""
    survival = numpyro.sample("survival", dist.Uniform(0, 1))
    capture = numpyro.sample("capture", dist.Uniform(0, 1))

    def step(carry, seen):
        known, alive = carry
        animals, seen_before = (
            numpyro.plate("animals", len(captures)),
            numpyro.handlers.mask(mask=known),
        )
        lives = dist.util.clamp_probs(known * survival * alive + (1 - known))
        with animals, seen_before if masked_states else nullcontext():
            alive = numpyro.sample("alive", dist.Bernoulli(lives))
        with animals, seen_before:
            sees = dist.util.clamp_probs(capture * alive)
            numpyro.sample("seen", dist.Bernoulli(sees), obs=seen)
        return (known | seen.astype(bool), alive), None

    begin = captures[:, 0].astype(bool), jnp.ones(len(captures), dtype=jnp.int32)
    scan(step, begin, jnp.swapaxes(captures[:, 1:], 0, 1))


def of_captures(survival: float, capture: float, masked_states: bool) -> float:
    """By hand: seen or not until the last time, and never after it, dead or overlooked.

    Where the states before the first capture are masked, an animal is dead at it by one half.
    """
    total = 0.0
    for row in CAPTURES:
        (times,) = np.nonzero(row)
        between = row[times[0] + 1 : times[-1] + 1]
        unseen = 1.0
        for _ in range(len(row) - 1 - times[-1]):
            unseen = 1 - survival + survival * (1 - capture) * unseen
        known = survival ** len(between) * np.prod(np.where(between, capture, 1 - capture)) * unseen
        if masked_states and times[0] > 0:
            known = 0.5 * known + 0.5 * (len(between) == 0)
        total += np.log(known)
    return total


@pytest.mark.parametrize("masked_states", [pytest.param(False, marks=pytest.mark.long), True])
def test_a_scan_that_carries_32_bits_is_summed_out_with_its_masks(masked_states: bool) -> None:
    masked_out = sum(np.nonzero(row)[0][0] for row in CAPTURES)
    told = f'"alive" is masked out in places.*{masked_out * np.log(2):.3f} nats'
    with pytest.warns(UserWarning, match=told) if masked_states else nullcontext():
        model = refti.from_numpyro(captured_again, CAPTURES, masked_states)
    x = np.random.default_rng(2).normal(size=(6, 2))
    rates = 1 / (1 + np.exp(-x))
    jacobian = np.log(rates * (1 - rates)).sum(axis=1)
    by_hand = np.array([of_captures(*at, masked_states) for at in rates]) + jacobian
    np.testing.assert_allclose(model.log_densities(x), by_hand, rtol=1e-10)
    np.testing.assert_allclose(model.prior_alone().log_densities(x), jacobian, rtol=1e-10)


@pytest.mark.long  # the scan above carries one
def test_a_float_that_a_scan_carries_in_32_bits_is_computed_in_64() -> None:
    def levels(y, dtype) -> None:
        spread = numpyro.sample("spread", dist.HalfNormal(1))

        def step(level, now):
            numpyro.sample("y", dist.Normal(level, 1), obs=now)
            return 0.3 * level + spread * now, None

        scan(step, jnp.zeros((), dtype=dtype), y)

    narrow, plain = (refti.from_numpyro(levels, Y, one) for one in (jnp.float32, float))
    x = np.array([[-1.0], [0.3], [1.2]])
    np.testing.assert_array_equal(narrow.log_densities(x), plain.log_densities(x))
