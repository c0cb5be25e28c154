data {
  int<lower=1> n;
  vector[n] strength;
  vector[n] covariate;
}
transformed data {
  vector[n] centred = covariate - mean(covariate);
}
parameters {
  real alpha;
  real beta;
  real<lower=0> tau;
}
model {
  target += gamma_lpdf(tau | 3, 2 * square(300.0));
  target += normal_lpdf(alpha | 3000, inv_sqrt(0.06 * tau));
  target += normal_lpdf(beta | 185, inv_sqrt(6 * tau));
  target += normal_lpdf(strength | alpha + beta * centred, inv_sqrt(tau));
}
