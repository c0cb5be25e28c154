data {
  int<lower=1> N;
  int<lower=1> K;
  matrix[N, K] x;
  int<lower=0, upper=1> y[N];
}
parameters {
  real alpha;
  vector[K] beta;
}
model {
  target += normal_lpdf(alpha | 0, 2);
  target += student_t_lpdf(beta | 4, 0, 1);
  target += bernoulli_logit_lpmf(y | alpha + x * beta);
}
