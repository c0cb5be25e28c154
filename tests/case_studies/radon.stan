// Radon in houses of counties, centred, after posteriordb's partially pooled model.
data {
  int<lower=1> N, J;
  array[N] int<lower=1, upper=J> county;
  vector[N] log_radon;
}
parameters {
  vector[J] alpha;
  real mu_alpha;
  real<lower=0> sigma_alpha, sigma_y;
}
model {
  mu_alpha ~ normal(0, 10);
  sigma_alpha ~ normal(0, 1);
  sigma_y ~ normal(0, 1);
  alpha ~ normal(mu_alpha, sigma_alpha);
  for (n in 1 : N) {
    log_radon[n] ~ normal(alpha[county[n]], sigma_y);
  }
}
