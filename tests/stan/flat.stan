// No priors: the evidence does not exist.
data {
  int<lower=1> n;
  vector[n] strength;
}
parameters {
  real mu;
  real<lower=0> sigma;
}
model {
  strength ~ normal(mu, sigma);
}
