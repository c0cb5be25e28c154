// Pairs of falcons, after the Poisson GLMM of Kéry and Schaub: random years, uniform priors.
data {
  int<lower=0> n;
  array[n] int<lower=0> count;
  vector[n] year;
}
transformed data {
  vector[n] squared = year .* year;
  vector[n] cubed = squared .* year;
}
parameters {
  real<lower=-20, upper=20> alpha;
  real<lower=-10, upper=10> beta1, beta2, beta3;
  vector[n] eps;
  real<lower=0, upper=5> sigma;
}
model {
  eps ~ normal(0, sigma);
  count ~ poisson_log(alpha + beta1 * year + beta2 * squared + beta3 * cubed + eps);
}
