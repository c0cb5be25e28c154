// Parameters of every shape, a point that is rejected and one that fails.
functions {
  real penalty_lpdf(matrix m, real scale) {
    return normal_lpdf(to_vector(m) | 0, scale);
  }
}
data {
  int<lower=0> none;
  real<lower=0> scale;
}
parameters {
  array[2] simplex[3] p;
  matrix[2, 3] m;
  vector[none] nothing;
  cholesky_factor_corr[3] l;
  array[2, 2] real<lower=-1, upper=1> r;
}
model {
  array[2] int two = {1, 2};
  for (i in 1 : 2) {
    p[i] ~ dirichlet(rep_vector(2, 3));
  }
  target += penalty_lpdf(m | scale);
  l ~ lkj_corr_cholesky(1.5);
  r[1, 2] ~ normal(0.5, 0.3);
  if (m[1, 2] > 5) {
    reject("m[1, 2] is ", m[1, 2]);
  }
  if (m[2, 3] > 5) {
    target += two[none + 3];
  }
}
