// Newborn turtles in clutches, after bridgesampling's vignette: a probit with random intercepts.
data {
  int<lower=1> N, C;
  array[N] int<lower=0, upper=1> y;
  vector[N] x;
  array[N] int<lower=1, upper=C> clutch;
}
parameters {
  real alpha0_raw, alpha1_raw;
  vector[C] b_raw;
  real<lower=0> sigma2;
}
transformed parameters {
  real<lower=0> sigma = sqrt(sigma2);
  real alpha0 = sqrt(10.0) * alpha0_raw;
  real alpha1 = sqrt(10.0) * alpha1_raw;
  vector[C] b = sigma * b_raw;
}
model {
  target += -2 * log(1 + sigma2);
  target += normal_lpdf(alpha0_raw | 0, 1);
  target += normal_lpdf(alpha1_raw | 0, 1);
  target += normal_lpdf(b_raw | 0, 1);
  for (i in 1 : N) {
    target += bernoulli_lpmf(y[i] | Phi(alpha0 + alpha1 * x[i] + b[clutch[i]]));
  }
}
