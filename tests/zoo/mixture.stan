data {
  int<lower=1> N, K;
  vector[K] centre;
  vector[N] y;
}
parameters {
  simplex[K] weight;
  vector[K] mu;
  real<lower=0> sigma;
}
model {
  weight ~ dirichlet(rep_vector(2, K));
  mu ~ normal(centre, 1);
  sigma ~ gamma(2, 2);
  for (n in 1 : N) {
    vector[K] each = log(weight);
    for (k in 1 : K) {
      each[k] += normal_lpdf(y[n] | mu[k], sigma);
    }
    target += log_sum_exp(each);
  }
}
