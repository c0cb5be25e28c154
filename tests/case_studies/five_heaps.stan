// Five exchangeable components: 120 modes that are one and the same by another numbering.
data {
  int<lower=1> N, K;
  vector[N] y;
}
parameters {
  simplex[K] weight;
  vector[K] mu;
  vector<lower=0>[K] sigma;
}
model {
  weight ~ dirichlet(rep_vector(4, K));
  mu ~ normal(0, 10);
  sigma ~ lognormal(-0.5, 0.3);
  for (n in 1 : N) {
    target += log_sum_exp(log(weight) + [normal_lpdf(y[n] | mu[1], sigma[1]),
                                         normal_lpdf(y[n] | mu[2], sigma[2]),
                                         normal_lpdf(y[n] | mu[3], sigma[3]),
                                         normal_lpdf(y[n] | mu[4], sigma[4]),
                                         normal_lpdf(y[n] | mu[5], sigma[5])]');
  }
}
