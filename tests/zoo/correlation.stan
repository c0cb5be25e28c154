data {
  int<lower=1> N;
  int<lower=2> K;
  array[N] vector[K] y;
}
parameters {
  vector<lower=0>[K] sd;
  cholesky_factor_corr[K] factor;
}
model {
  sd ~ exponential(1);
  factor ~ lkj_corr_cholesky(2);
  y ~ multi_normal_cholesky(rep_vector(0, K), diag_pre_multiply(sd, factor));
}
generated quantities {
  matrix[K, K] correlation = multiply_lower_tri_self_transpose(factor);
}
