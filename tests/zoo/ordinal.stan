data {
  int<lower=1> N;
  int<lower=3> K;
  vector[N] x;
  array[N] int<lower=1, upper=K> y;
}
parameters {
  real beta;
  ordered[K - 1] cut;
}
model {
  beta ~ normal(0, 1);
  // The first cut-point and the gaps between neighbours, of which the cut-points are the sums.
  target += normal_lpdf(cut[1] | -1, 1);
  target += lognormal_lpdf(cut[2 : K - 1] - cut[1 : K - 2] | 0, 0.5);
  y ~ ordered_logistic(beta * x, cut);
}
