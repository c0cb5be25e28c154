"""Priors of Stan programs: improper ones are refused however they are hidden, sizes are told."""

from __future__ import annotations

from functools import cache
from math import lgamma, log
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

import refti
from refti.inputs.stan.factors import Code
from refti.inputs.stan.prior_of import Sizes
from refti.inputs.stan.priors import Priors, read_priors
from refti.inputs.stan.program import read_program
from refti.inputs.stan.sizes import known_data
from refti.inputs.stan.toolchain import find_toolchain
from refti.inputs.stan.wheel import Wheel

HIDDEN = Path(__file__).parents[1] / "stan" / "hidden.stan"
HALF = log(0.5)
LEFT_OF_ONE = stats.norm.logcdf(1)


def code_of(program: str) -> Code:
    return read_program(program, find_toolchain().stanc).code


def priors_of(statements: str, declared: str = "") -> Priors:
    """What the text tells of parameters mu[2] and sigma, and of others that are declared."""
    program = f"""
        functions {{ real own_lpdf(real x) {{ return -square(x); }}
                     void drawn_lp(real x) {{ x ~ normal(0, 1); }} }}
        data {{ int N; vector[N] y; vector[N] x; real m0; array[N] int k; int one; }}
        transformed data {{ int M = N - 1; }}
        parameters {{ vector[2] mu; real<lower=0> sigma; {declared} }}
        model {{ {statements} }}
    """
    code = code_of(program)
    return read_priors(code, known_data(code.data, {"N": 3, "m0": 0.5}))


GIVEN = "mu ~ normal(0, 1); sigma ~ exponential(1); "


@pytest.mark.parametrize(
    ("statements", "declared", "flat"),
    [
        ("y ~ normal(mu[1], sigma);", "", ("mu", "sigma")),
        (
            "vector[N] r = y - mu[1] - mu[2] * x; r ~ normal(0, sigma); sigma ~ gamma(1, 1);",
            "",
            ("mu",),
        ),
        ("(y - mu[1]) / sigma ~ std_normal(); sigma ~ gamma(1, 1);", "", ("mu",)),
        (
            "vector[N] e; e[1] = y[1] - mu[1]; for (t in 2:N) { e[t] = y[t] - mu[2] * e[t - 1]; }"
            "e ~ normal(0, sigma); sigma ~ exponential(1);",
            "",
            ("mu",),
        ),
        (
            GIVEN
            + "for (t in 2:N) { real nu = mu[1] + phi * y[t - 1]; y[t] - nu ~ normal(0, 1); }",
            "real phi;",
            ("phi",),
        ),
        ("// mu ~ normal(m0, 1);\nsigma ~ normal(0, 1); y ~ normal(mu[1], sigma);", "", ("mu",)),
        (
            GIVEN + "theta ~ normal(mu[1], tau); y ~ normal(theta, 1);",
            "vector[N] theta; real<lower=0> tau;",
            ("tau",),
        ),
        (GIVEN + "k ~ poisson_log(b * x);", "real b;", ("b",)),
        (GIVEN + "target += -0.5 * dot_self(y - b);", "real b;", ("b",)),
        (GIVEN + "one ~ bernoulli_logit(b);", "real b;", ("b",)),
        (GIVEN + "target += normal_lccdf(y | b, 1);", "real b;", ("b",)),
        (
            GIVEN + "target += log_mix(0.3, normal_lpdf(y[1] | b, 1), normal_lpdf(y[1] | 0, 1));",
            "real b;",
            ("b",),
        ),
        (GIVEN + "y ~ normal(L[2, 1] * x, 1);", "cov_matrix[2] L;", ("L",)),
    ],
)
def test_improper_priors_are_seen_in_the_text(
    statements: str, declared: str, flat: tuple[str, ...]
):
    assert priors_of(statements, declared).flat == flat


@pytest.mark.parametrize(
    ("statements", "declared"),
    [
        ("mu ~ normal(m0, 1); sigma ~ exponential(m0); y ~ normal(mu[1], sigma);", ""),
        ("target += normal_lpdf(mu | m0, 1) + exponential_lpdf(sigma | 1);", ""),
        ("mu[1] ~ normal(m0, 1); mu[2] ~ cauchy(m0, 1); sigma ~ gamma(2, 1);", ""),
        ("for (i in 1:2) { mu[i] ~ normal(0, i); } sigma ~ lognormal(0, 1);", ""),
        ("mu ~ multi_normal(y[1:2], identity_matrix(2)); sigma ~ cauchy(0, 1) T[0, ];", ""),
        ("target += std_normal_lpdf(mu) + cauchy_lpdf(sigma | 0, 1) - cauchy_lccdf(0 | 0, 1);", ""),
        (
            "to_vector(m) ~ normal(0, 1); mu' ~ std_normal(); sigma ~ exponential(1);",
            "matrix[2, 3] m;",
        ),
        (
            GIVEN + "for (i in 1:N) { for (j in 1:2) { m[i, j] ~ normal(0, 1); } }",
            "matrix[N, 2] m;",
        ),
        (
            GIVEN + "p ~ dirichlet(rep_vector(1, 3)); L ~ lkj_corr_cholesky(2);",
            "simplex[3] p; cholesky_factor_corr[2] L;",
        ),
        (GIVEN + "b[1:M] ~ normal(0, 1); b[N] ~ normal(0, 2);", "vector[N] b;"),
        (GIVEN + "vector[N] c = b; c ~ normal(0, 1);", "vector[N] b;"),
        (
            GIVEN + "for (i in 1:N) { b[i] ~ normal(mu[k[i]] + mu[1] * x[i], sigma^2 / 2); }",
            "vector[N] b;",
        ),
        (GIVEN + "b ~ normal(x[1:2]' * mu + mean(y) - exp(-sigma), sqrt(sigma));", "real b;"),
        (GIVEN + "b ~ cauchy(m0, sigma) T[0, ];", "real<lower=0> b;"),
        (GIVEN + "b ~ normal(0, 1) T[-2, 2];", "real b;"),
        (
            GIVEN + "target += normal_lpdf(b | 0, sigma) - 3 * normal_lccdf(0 | 0, sigma);",
            "vector<lower=0>[N] b;",
        ),
        (
            GIVEN + "for (i in 1:N) { target += normal_lpdf(b[i] | 0, mu[1]) - log_diff_exp("
            "normal_lcdf(m0 | 0, mu[1]), normal_lcdf(0 | 0, mu[1])); }",
            "vector<lower=0, upper=m0>[N] b;",
        ),
        (GIVEN + "target += cauchy_lpdf(b | 0, 5) + log(2);", "real<lower=0> b;"),
        (GIVEN + "target += std_normal_lpdf(b) + lgamma(N + 1);", "ordered[N] b;"),
    ],
)
def test_priors_that_integrate_to_one_are_seen_in_the_text(statements: str, declared: str):
    assert priors_of(statements, declared) == Priors((), {}, (), (), ())


@pytest.mark.parametrize(
    ("statements", "declared", "unclear"),
    [
        ("mu[1] ~ normal(m0, 1); sigma ~ gamma(1, 1);", "", ("mu",)),
        ("mu ~ normal(0, 1); log(sigma) ~ normal(m0, 1);", "", ("sigma",)),
        ("mu ~ normal(0, 1); mu ~ normal(1, 1); sigma ~ gamma(1, 1);", "", ("mu",)),
        ("if (N > 2) { mu ~ normal(0, 1); } sigma ~ gamma(1, 1);", "", ("mu",)),
        ("mu ~ normal(0, 1); target += own_lpdf(sigma);", "", ()),
        ("mu ~ normal(0, 1); target += exponential_lpdf(sigma | 1) + log(sigma);", "", ("sigma",)),
        ("mu ~ normal(0, 1); target += 2 * exponential_lpdf(sigma | 1);", "", ("sigma",)),
        (GIVEN + "b ~ normal(mu[1], 1);", "real<lower=0> b;", ("b",)),
        (GIVEN + "drawn_lp(b);", "real b;", ("b",)),
        (GIVEN + "a - b ~ normal(0, 1);", "real a; real b;", ("a", "b")),
        (GIVEN + "sum(b) ~ normal(0, 0.001 * N);", "vector[N] b;", ("b",)),
        (GIVEN + "0 ~ normal(b, 1);", "real b;", ("b",)),
        # One number beside a vector is as many densities as the vector has elements.
        (GIVEN + "b ~ normal(y, 1);", "real b;", ("b",)),
        (GIVEN + "b ~ normal(mu, 1);", "real b;", ("b",)),
        (GIVEN + "b ~ normal(0, tau); tau ~ exponential(1);", "real b; vector[N] tau;", ("b",)),
        (GIVEN + "for (i in 1:N) { b[i] ~ normal(y, 1); }", "vector[N] b;", ("b",)),
        (GIVEN + "b ~ normal(f + M * x, 1); f ~ cauchy(0, 1);", "real b; real f;", ("b",)),
        (
            GIVEN + "b ~ multi_normal(c, identity_matrix(2)); c[1] ~ std_normal();",
            "vector[2] b; array[2] vector[2] c;",
            ("b", "c"),
        ),
        # Something else by the time that it is drawn.
        (GIVEN + "vector[N] c = b; c[1] = 0; c ~ normal(0, 1);", "vector[N] b;", ("b",)),
        (GIVEN + "real c = b; c = 3; c ~ normal(0, 1);", "real b;", ("b",)),
        # Half of what a parameter's own distribution leaves, beside that of another scale.
        (
            GIVEN + "target += normal_lpdf(b | 0, mu[1]) - normal_lccdf(0 | 0, sigma);",
            "real<lower=0> b;",
            ("b",),
        ),
    ],
)
def test_what_the_text_does_not_tell_is_left_to_the_density(
    statements: str, declared: str, unclear: tuple[str, ...]
):
    found = priors_of(statements, declared)
    assert set(unclear) <= set(found.unclear)
    assert found.flat == ()


@pytest.mark.parametrize(
    ("statements", "declared", "unclear"),
    [
        ("b ~ normal(f, 1); f ~ normal(b, 1);", "real b; real f;", ("b", "f")),
        ("b ~ normal(b, 1);", "real b;", ("b",)),
        (
            "f ~ normal(b, 1); vector[N] c = 2 * f; b ~ normal(c, 1);",
            "vector[N] b; vector[N] f;",
            ("b", "f"),
        ),
        ("b[1] ~ normal(0, 1); b[2:N] ~ normal(sum(b[1:M]), 1);", "vector[N] b;", ("b",)),
        ("b[1] ~ normal(b[2], 1); b[2] ~ normal(b[1], 1);", "vector[2] b;", ("b",)),
        (
            "b[1] ~ normal(0, 1); f[1] ~ normal(0, 1);"
            "for (t in 2:N) { b[t] ~ normal(b[t - 1] + f[t], 1); f[t] ~ normal(b[t], 1); }",
            "vector[N] b; vector[N] f;",
            ("b", "f"),
        ),
        ("b ~ own();", "real b;", ("b",)),
        ("b ~ von_mises(0, 1);", "real b;", ("b",)),
        # Given what comes before it: a chain, and no circle.
        (
            "b[1] ~ normal(0, 1);"
            "for (t in 2:N) { b[t] ~ normal(mu[1] + mu[2] * b[t - 1], sigma); }",
            "vector[N] b;",
            (),
        ),
        (
            "b[1] ~ normal(0, 1); b[2:N] ~ normal(mu[1] + mu[2] * (b[1:M] - mu[1]), sigma);",
            "vector[N] b;",
            (),
        ),
        ("b[1] ~ normal(0, 1); b[2:N] ~ normal(b[:M], sigma);", "vector[N] b;", ()),
        ("b[1] ~ normal(0, 1); b[2] ~ normal(b[1], 1);", "vector[2] b;", ()),
        (
            "for (t in 2:N) { b[t] ~ normal(b[t - 1] - f[t - 1], 1); f[t] ~ normal(b[t], 1); }"
            "b[1] ~ normal(0, 1); f[1] ~ normal(0, 1);",
            "vector[N] b; vector[N] f;",
            (),
        ),
        (
            "m[1] ~ normal(0, 1);"
            "for (t in 2:N) { for (i in 1:2) { m[t, i] ~ normal(m[t - 1, i], sigma); } }",
            "matrix[N, 2] m;",
            (),
        ),
    ],
)
def test_densities_given_each_other_in_a_circle_are_left_to_the_density(
    statements: str, declared: str, unclear: tuple[str, ...]
):
    assert set(priors_of(GIVEN + statements, declared).unclear) - {"sigma"} == set(unclear)


@pytest.mark.parametrize(
    ("statement", "declared", "is_cut"),
    [
        ("b ~ normal(mu[1], sigma);", "vector<lower=m0>[N] b;", True),
        ("b ~ normal(mu[1], sigma);", "vector[N] b;", False),
        ("b ~ normal(0, 2);", "vector<lower=m0>[N] b;", False),
        ("b ~ lognormal(mu[1], sigma);", "vector<lower=0>[N] b;", False),
        (
            "for (i in 1:N) { b[i] ~ normal(mu[1], sigma) T[m0, ]; }",
            "vector<lower=m0>[N] b;",
            False,
        ),
    ],
)
def test_densities_that_bounds_cut_off_as_other_parameters_have_it(
    statement: str, declared: str, is_cut: bool
):
    found = priors_of(GIVEN + statement, declared)
    assert found.cut_by_others == (("b",) if is_cut else ())
    said = " ".join(Sizes({}, {}, 0.0, False, None, found.cut_by_others).notes("keep"))
    assert ("density of b that depends on other parameters" in said) == is_cut


def test_missing_data_are_drawn_beside_those_that_are_there():
    joined = "vector[N + 2] all_y = append_row(y, gone); all_y ~ normal(mu[1], sigma);"
    found = priors_of(GIVEN + joined, "vector[2] gone;")
    assert found == Priors((), {}, (), (), ("gone",))


@pytest.mark.parametrize(
    ("statements", "declared", "cut"),
    [
        ("mu ~ normal(0, 1); sigma ~ normal(0, 5);", "", {"sigma": HALF}),
        ("mu ~ normal(0, 1); sigma ~ cauchy(0, 2.5);", "", {"sigma": HALF}),
        (GIVEN + "b ~ student_t(3, 0, 1);", "vector<lower=0>[N] b;", {"b": 3 * HALF}),
        (
            GIVEN + "b ~ normal(1, 2);",
            "real<lower=0, upper=m0> b;",
            {"b": np.log(stats.norm(1, 2).cdf(0.5) - stats.norm(1, 2).cdf(0))},
        ),
        (GIVEN + "b ~ normal(0, 1);", "ordered[4] b;", {"b": -lgamma(5)}),
        (GIVEN + "b ~ normal(0, 1);", "positive_ordered[2] b;", {"b": 2 * HALF - lgamma(3)}),
        (GIVEN + "b ~ uniform(0, 10);", "real<lower=0, upper=5> b;", {"b": HALF}),
        (
            GIVEN + "b[{1, 3}] ~ normal(0, 5); b[{2}] ~ exponential(1);",
            "array[N] real<lower=0> b;",
            {"b": 2 * HALF},
        ),
        (GIVEN + "b ~ beta(2, 2);", "real<lower=0.5, upper=1> b;", {"b": HALF}),
        # What is truncated elsewhere than the parameter is, and what is truncated too seldom.
        (GIVEN + "b ~ normal(0, 1) T[-1, ];", "real<lower=0> b;", {"b": HALF - LEFT_OF_ONE}),
        (GIVEN + "b ~ exponential(2) T[, 3];", "real<lower=0, upper=3> b;", {}),
        (
            GIVEN + "target += normal_lpdf(b | 0, 1) - normal_lccdf(0 | 0, 1);",
            "vector<lower=0>[N] b;",
            {"b": 2 * HALF},
        ),
        (
            GIVEN + "target += normal_lpdf(b | 0, 1) - normal_lcdf(1 | 0, 1);",
            "real<lower=0> b;",
            {"b": HALF - LEFT_OF_ONE},
        ),
    ],
)
def test_what_bounds_cut_off_is_told_in_nats(statements: str, declared: str, cut: dict[str, float]):
    found = priors_of(statements, declared)
    assert found.cut == pytest.approx(cut)
    assert (found.flat, found.unclear) == ((), ())


def hidden(which: int, **options: object) -> refti.Model:
    data = {"which": which, "J": 3, "y": [0.3, -0.2, 1.4]}
    return refti.from_stan(HIDDEN, data, progress=False, **options)  # type: ignore[arg-type]


@cache
def quick_evidence(which: int) -> refti.Evidence:
    settings = {"search": "quick", "warmup": 100, "kept": 100, "ladder": refti.power(4)}
    return refti.evidence(hidden(which), **settings, progress=False)


class TestHidden:
    """What the text does not tell is told by the density, of one program that is compiled once."""

    @pytest.mark.parametrize(
        ("which", "named"),
        [(1, "a"), (2, "a, b"), (3, "c"), (4, "s"), (5, "b"), (6, "b"), (7, "c")],
        ids=["switched off", "a difference", "an element", "Jeffreys", "own", "bounded", "a mean"],
    )
    def test_improper_priors_are_refused(self, which: int, named: str):
        with pytest.raises(refti.ModelError, match=f"no prior to {named}\\. .*improper"):
            hidden(which)

    def test_the_prior_alone_is_that_of_the_program(self):
        model = hidden(0)
        assert model.prior is not None
        x = np.random.default_rng(1).normal(size=(5, model.dim))
        wanted = stats.norm.logpdf(x[:, :5]).sum(axis=1) - np.exp(x[:, 5]) + x[:, 5]
        np.testing.assert_allclose(model.prior_alone().log_densities(x), wanted, rtol=1e-12)
        mean = x[:, :2].sum(axis=1)[:, None] + x[:, 2:5]
        y = np.array([0.3, -0.2, 1.4])
        likelihood = stats.norm.logpdf(y, mean, np.exp(x[:, 5:])).sum(axis=1)
        np.testing.assert_allclose(model.log_densities(x), wanted + likelihood, rtol=1e-12)

    @pytest.mark.long  # compiles another program
    def test_a_program_that_is_taken_as_it_is_has_the_same_density(self):
        model = hidden(0)
        x = np.random.default_rng(1).normal(size=(5, model.dim))
        np.testing.assert_array_equal(
            model.log_densities(x), hidden(0, check_prior=False).log_densities(x)
        )

    def test_the_prior_is_seen_to_integrate_to_one_or_not(self):
        checks = {
            which: {check.name: check for check in quick_evidence(which).checks} for which in (0, 8)
        }
        assert checks[0]["prior"].ok
        assert not checks[8]["prior"].ok
        # Three times the log of a standard normal: its cube integrates to (2 pi)^-1 / sqrt(3).
        assert checks[8]["prior"].value == pytest.approx(log(2 * np.pi * np.sqrt(3)), abs=0.05)

    def test_what_else_the_program_computes_is_in_the_posterior(self):
        posterior = quick_evidence(0).posterior
        np.testing.assert_allclose(posterior["both"], posterior["a"] + posterior["b"], rtol=1e-12)
        again = posterior["again"].values
        np.testing.assert_allclose(again, np.broadcast_to([1.3, 0.8, 2.4], again.shape))
        z = ((posterior["noise"] - posterior["a"]) / posterior["s"]).values
        assert abs(z.mean()) < 4.5 / np.sqrt(z.size)
        assert abs(z.std() - 1) < 4.5 / np.sqrt(2 * z.size)


def test_every_statement_is_counted_once_in_the_prior_or_the_likelihood():
    code = code_of(HIDDEN.read_text())
    assert sum(factor.is_likelihood for factor in code.factors) == 1
    assert len(code.factors) == 11


@pytest.mark.parametrize(
    ("statement", "of_data"),
    [
        ("1 ~ bernoulli(p);", True),
        ("0 ~ poisson_log(mu[1]);", True),
        ("target += bernoulli_lpmf(1 | p);", True),
        ("target += log_sum_exp(bernoulli_lpmf(1 | p), bernoulli_lpmf(0 | p) + mu[1]);", True),
        ("p ~ beta(2, 2);", False),
        ("target += normal_lpdf(mu[1] | 0, 1);", False),
    ],
)
def test_what_is_said_of_a_whole_number_is_no_prior(statement: str, of_data: bool):
    code = code_of(
        "parameters { vector[2] mu; real<lower=0, upper=1> p; }"
        f"model {{ mu ~ normal(0, 1); {statement} }}"
    )
    prior, other = code.factors
    assert (prior.is_likelihood, other.is_likelihood) == (False, of_data)


def test_improper_priors_are_told_before_anything_is_compiled(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(Wheel, "build", lambda *a: pytest.fail("compiled"))
    program = """
        data { int N; vector[N] x; vector[N] y; }
        parameters { real a; real b; real<lower=0> sigma; }
        model { vector[N] resid = y - a - b * x; sigma ~ exponential(1); resid ~ normal(0, sigma); }
    """
    with pytest.raises(refti.ModelError, match=r"no prior to a, b.*resid = y - a.*a ~ normal"):
        refti.from_stan(program, {"N": 2, "x": [1, 2], "y": [1, 2]})


SPLIT = """
data { int n; vector[n] y; }
parameters { real mu; real<lower=0> tau; real<lower=-1, upper=3> shift; }
model {
  mu ~ normal(0, 1);
  tau ~ normal(0, 2);
  for (i in 1 : n) target += normal_lpdf(y[i] | mu + shift, 1 + tau);
}
"""


@pytest.mark.long  # compiles another program; TestHidden has a prior that is split off
def test_the_prior_of_a_program_is_split_off_and_integrates_to_one():
    y = np.array([0.3, -1.2, 2.0])
    model = refti.from_stan(SPLIT, {"n": 3, "y": y}, split_prior=True, progress=False)
    x = np.random.default_rng(3).normal(size=(5, 3))
    mu, tau, share = x[:, 0], np.exp(x[:, 1]), 1 / (1 + np.exp(-x[:, 2]))
    # A half-normal, and a uniform whose density and Jacobian together are those of a logistic.
    prior = stats.norm.logpdf(mu) + stats.halfnorm.logpdf(tau, 0, 2) + x[:, 1]
    prior += stats.logistic.logpdf(x[:, 2])
    assert model.prior_alone().log_densities(x) == pytest.approx(prior, abs=1e-12)
    middle = mu + 4 * share - 1
    likelihood = stats.norm.logpdf(y[:, None], middle, 1 + tau).sum(axis=0)
    # The whole is as the program has it: half of a normal, and a density of 1 between bounds.
    whole = prior + likelihood - log(2) + log(4)
    assert model.log_densities(x) == pytest.approx(whole, abs=1e-12)


def test_a_prior_that_cannot_be_split_off_is_told_before_anything_is_compiled():
    program = """
        data { vector[2] y; }
        parameters { real mu; vector[1] gone; }
        model { mu ~ normal(0, 1); append_row(y, gone) ~ normal(mu, 1); }
    """
    with pytest.raises(refti.ModelError, match=r"draws gone together with data.*prior="):
        refti.from_stan(program, {"y": [1.0, 2.0]}, split_prior=True)
