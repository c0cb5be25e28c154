// Normal random effects with inverse gamma variances, after bridgesampling's first vignette.
data {
  int<lower=1> n;
  vector[n] y;
  real<lower=0> alpha, beta, sigma2;
}
parameters {
  real<lower=0> tau2;
  vector[n] theta;
  real mu;
}
model {
  target += inv_gamma_lpdf(tau2 | alpha, beta);
  target += normal_lpdf(theta | mu, sqrt(tau2));
  target += normal_lpdf(mu | 0, 1);
  target += normal_lpdf(y | theta, sqrt(sigma2));
}
