// Catches of which many are nought: some parties do not fish, the others catch Poisson counts.
functions {
  real zero_inflated_lpmf(int y, real absent, real log_rate) {
    if (y == 0) {
      return log_mix(absent, 0, poisson_log_lpmf(0 | log_rate));
    }
    return log1m(absent) + poisson_log_lpmf(y | log_rate);
  }
}
data {
  int<lower=1> N;
  vector[N] people;
  array[N] int<lower=0> y;
}
parameters {
  real alpha, beta;
  real<lower=0, upper=1> absent;
}
model {
  alpha ~ normal(0, 1);
  beta ~ normal(0, 1);
  absent ~ beta(2, 2);
  for (n in 1 : N) {
    target += zero_inflated_lpmf(y[n] | absent, alpha + beta * people[n]);
  }
}
generated quantities {
  array[N] int replicated;
  for (n in 1 : N) {
    replicated[n] = bernoulli_rng(absent) ? 0 : poisson_log_rng(alpha + beta * people[n]);
  }
}
