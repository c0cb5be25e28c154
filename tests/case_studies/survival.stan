// Times to failure by a Weibull law; those still running at the end are censored.
data {
  int<lower=1> N, K;
  matrix[N, K] x;
  vector<lower=0>[N] time;
  array[N] int<lower=0, upper=1> failed;
}
parameters {
  real<lower=0> shape;
  real intercept;
  vector[K] beta;
}
model {
  vector[N] scale = exp(intercept + x * beta);
  shape ~ gamma(4, 3);
  intercept ~ normal(1, 1);
  beta ~ normal(0, 0.5);
  for (n in 1 : N) {
    if (failed[n]) {
      target += weibull_lpdf(time[n] | shape, scale[n]);
    } else {
      target += weibull_lccdf(time[n] | shape, scale[n]);
    }
  }
}
