"""Discrete sites of NumPyro models are summed out; names, plates and data are kept."""

from __future__ import annotations

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
