// A regression on a covariate that was itself measured with error.
data {
  int<lower=1> N;
  vector[N] measured;
  real<lower=0> error;
  vector[N] y;
}
parameters {
  real alpha, beta, centre;
  real<lower=0> width, noise;
  vector<offset=centre, multiplier=width>[N] truth;
}
model {
  alpha ~ normal(0, 2);
  beta ~ normal(0, 2);
  centre ~ normal(0, 2);
  width ~ gamma(3, 3);
  noise ~ exponential(2);
  truth ~ normal(centre, width);
  measured ~ normal(truth, error);
  y ~ normal(alpha + beta * truth, noise);
}
