// Radiata pine: strength on a covariate, centred. The priors are those of Friel and Wyse (2012).
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
  tau ~ gamma(3, 2 * square(300.0));
  alpha ~ normal(3000, inv_sqrt(0.06 * tau));
  beta ~ normal(185, inv_sqrt(6 * tau));
  strength ~ normal(alpha + beta * centred, inv_sqrt(tau));
}
