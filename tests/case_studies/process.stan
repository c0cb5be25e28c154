// A Gaussian process with unknown length, height and noise, its values integrated out.
data {
  int<lower=1> N;
  array[N] real x;
  vector[N] y;
}
transformed data {
  vector[N] zero = rep_vector(0, N);
  real nudge = 1e-9;
}
parameters {
  real<lower=0> length, height, noise;
}
model {
  matrix[N, N] covariance = gp_exp_quad_cov(x, height, length);
  covariance = add_diag(covariance, square(noise) + nudge);
  length ~ inv_gamma(5, 5);
  height ~ normal(0, 1) T[0, ];
  noise ~ normal(0, 1) T[0, ];
  y ~ multi_normal_cholesky(zero, cholesky_decompose(covariance));
}
