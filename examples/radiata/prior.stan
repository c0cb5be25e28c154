// The prior of radiata.stan alone, for power posteriors.
parameters {
  real alpha;
  real beta;
  real<lower=0> tau;
}
model {
  tau ~ gamma(3, 2 * square(300.0));
  alpha ~ normal(3000, inv_sqrt(0.06 * tau));
  beta ~ normal(185, inv_sqrt(6 * tau));
}
