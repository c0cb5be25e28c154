data {
  int<lower=1> N, J;
  array[N] int<lower=1, upper=J> group;
  vector[N] y;
}
parameters {
  real mu;
  real<lower=0> tau, sigma;
  vector[J] theta;
}
model {
  mu ~ normal(0, 5);
  tau ~ exponential(1);
  sigma ~ exponential(1);
  theta ~ normal(mu, tau);
  y ~ normal(theta[group], sigma);
}
