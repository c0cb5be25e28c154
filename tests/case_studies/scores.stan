// Test scores of children by their mothers' schooling and scores, after posteriordb's kidiq.
data {
  int<lower=0> N;
  vector[N] score, schooling, mother;
}
parameters {
  vector[4] beta;
  real<lower=0> sigma;
}
model {
  beta ~ normal(0, 10);
  sigma ~ cauchy(0, 2.5);
  score ~ normal(beta[1] + beta[2] * schooling + beta[3] * mother
                 + beta[4] * mother .* schooling, sigma);
}
