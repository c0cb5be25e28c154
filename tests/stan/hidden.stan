// Priors that are there, or not, or not normalised, in ways that the text does not tell.
functions {
  real flat_lpdf(real x) {
    return 0;
  }
}
data {
  int<lower=0> which, J;
  vector[J] y;
}
parameters {
  real a, b;
  vector[J] c;
  real<lower=0> s;
}
transformed parameters {
  real both = a + b;
}
model {
  if (which != 1 && which != 2) a ~ normal(0, 1);
  if (which == 2) a - b ~ normal(0, 1);
  else if (which == 5) target += flat_lpdf(b);
  else if (which == 6) inv_logit(b) ~ beta(1, 1);
  else if (which == 8) target += 3 * normal_lpdf(b | 0, 1);
  else b ~ normal(0, 1);
  if (which == 7) mean(c) ~ normal(0, 1);
  else for (j in (which == 3 ? 2 : 1) : J) c[j] ~ normal(0, 1);
  if (which == 4) target += -log(s);
  else s ~ exponential(1);
  y ~ normal(both + c, s);
}
generated quantities {
  vector[J] again = y + 1;
  real noise = normal_rng(a, s);
}
