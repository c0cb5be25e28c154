"""Data and programs of older Stan: R dumps are read, old syntax is converted, sizes are told."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

import refti
from refti.inputs.stan.dump import parse_dump
from refti.inputs.stan.modernise import modernise
from refti.inputs.stan.program import read_program
from refti.inputs.stan.sizes import size_faults
from refti.inputs.stan.toolchain import find_toolchain

OLD = """# an old comment
functions {
  real[] f(real t, real[] y, real[] theta, real[] x_r, int[] x_i) {
    real dydt[2]; dydt[1] <- y[1]; dydt[2] <- -y[2] * theta[1]; return dydt;
  }
}
data {
  int<lower=0> N; // number
  real y[N]; /* two
  lines */
  int<lower=1, upper=N> g[N];
  vector[2] x[N], w;
  matrix[2, 2] m[N, 3];
}
parameters { real mu[2]; real<lower=0> sigma; vector<lower=-1, upper=fmax(1, 2)>[3] b[N]; }
transformed parameters { real s = sqrt(sigma); real z[2] = mu; }
model {
  real lp[2];
  for (k in 1:2) lp[k] <- normal_log(y[k], mu[k], sigma);
  increment_log_prob(log_sum_exp(lp));
  increment_log_prob(poisson_log(g, exp(mu[1])) + normal_cdf_log(y[1], 0, 1));
  g ~ poisson_log(mu[2]);
  mu ~ normal(0, 1); sigma ~ cauchy(0, 5);
  if (y[1]<-2) mu[1] ~ normal(0, 1);
}
"""


def test_old_programs_are_converted_to_what_stanc_accepts():
    stanc = find_toolchain().stanc
    with pytest.raises(refti.ModelError, match="modernise=True"):
        read_program(OLD.replace("<-", "=").replace("#", "//"), stanc)
    program = read_program(OLD, stanc, modern=False)
    assert program.data["m"] == {"type": "real", "dimensions": 4}
    assert program.code.data["x"].kind == "vector"
    assert program.code.data["w"].array == ()
    for kept in ("normal_lpdf(y[k] | mu[k], sigma)", "poisson_lpmf(g | exp(mu[1]))"):
        assert kept in program.code.text
    assert "normal_lcdf(y[1] | 0, 1)" in program.code.text
    assert "g ~ poisson_log(mu[2])" in program.code.text


def test_a_program_of_today_is_left_as_it_is():
    for file in (Path(__file__).parents[1] / "case_studies").glob("*.stan"):
        assert modernise(file.read_text()) == file.read_text()


def test_a_dump_is_read_as_r_means_it():
    found = parse_dump(
        """
        # made by dump()
        N <- 3L
        "y" <- c(1.5, -2e-3, NA)
        `k` <-
        1:3
        m <- structure(c(1, 2, 3, 4, 5, 6), .Dim = c(2L, 3L))
        named <- structure(c(1, 2), .Names = c("a", "b"))
        none <- integer(0)
        down <- 3:1; z = -Inf
        """
    )
    assert found["N"] == 3
    assert isinstance(found["N"], int)
    np.testing.assert_array_equal(found["y"], [1.5, -0.002, np.nan])
    np.testing.assert_array_equal(found["k"], [1, 2, 3])
    np.testing.assert_array_equal(found["m"], [[1, 3, 5], [2, 4, 6]])
    np.testing.assert_array_equal(found["named"], [1, 2])
    assert found["none"].size == 0
    np.testing.assert_array_equal(found["down"], [3, 2, 1])
    assert found["z"] == -np.inf


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("y <- list(1)", "line 1: expected a number, got 'list'"),
        ("N <- 2\ny <- c(1,", "expected a value, got 'the end'"),
        ("N 2", "expected '<-' or '=', got '2'"),
        ('y <- system("rm")', "expected a number, got 'system'"),
    ],
)
def test_what_is_no_data_is_told_with_its_line(text: str, said: str):
    with pytest.raises(ValueError, match=said):
        parse_dump(text)


@pytest.mark.parametrize(
    ("data", "said"),
    [
        ({"y": np.zeros(4)}, r"'y' must have the sizes \[N = 3\]; got \[4\]"),
        ({"x": np.zeros((3, 3))}, r"'x' must have the sizes \[N = 3, K \+ 1 = 2\]; got \[3, 3\]"),
        ({"g": [1, 2, 9]}, r"'g' must be at most N = 3; got g\[3\] = 9"),
        ({"K": -1}, r"'K' must be at least 0; got K = -1"),
        ({"y": [0.5, np.nan, np.nan]}, r"'y' must hold numbers; got NaN at y\[2\] \(2 in all\)"),
        ({"c": np.zeros((2, 3))}, r"'c' must have the sizes \[2, 2\]"),
    ],
)
def test_sizes_and_bounds_of_data_are_told_before_compiling(data: dict, said: str):
    program = """
        data { int N; int<lower=0> K; vector[N] y; array[N] vector[K + 1] x;
               array[N] int<lower=1, upper=N> g; cov_matrix[2] c; array[K] real none; }
        transformed data { int M = N + K; }
        model { }
    """
    declared = read_program(program, find_toolchain().stanc).code.data
    right = {"N": 3, "K": 1, "y": np.zeros(3), "x": np.zeros((3, 2)), "g": [1, 2, 3]}
    right |= {"c": np.eye(2), "none": [0.5]}
    assert size_faults(declared, right) == []
    (fault,) = size_faults(declared, right | data)[:1]
    assert re.search(said, fault), fault
