data {
  int<lower=1> J;
  vector[J] y;
  vector<lower=0>[J] sigma;
}
parameters {
  real mu;
  real<lower=0> tau;
  vector[J] z;
}
model {
  target += normal_lpdf(mu | 0, 10);
  target += normal_lpdf(tau | 0, 10) - normal_lccdf(0 | 0, 10);
  target += normal_lpdf(z | 0, 1);
  target += normal_lpdf(y | mu + tau * z, sigma);
}
