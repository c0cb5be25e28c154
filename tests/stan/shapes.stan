// Parameters of every shape, a point that is rejected and one that fails, and a differential
// equation: one program for many tests, for compiling takes long. The data say what it holds.
functions {
  real penalty_lpdf(matrix m, real scale) {
    return normal_lpdf(to_vector(m) | 0, scale);
  }
  vector decay(real t, vector y, vector rate) {
    return -rate .* y;
  }
}
data {
  int<lower=0> none;
  int<lower=0, upper=2> rows;
  real<lower=0> scale;
  int<lower=0> decays;
  vector[decays] left;
}
parameters {
  array[rows] simplex[3] p;
  matrix[rows, 3] m;
  vector[none] nothing;
  cholesky_factor_corr[rows + 1] factor;
  array[rows, rows] real<lower=-1, upper=1> r;
  vector<lower=0>[decays] rate;
}
model {
  array[2] int two = {1, 2};
  if (rows > 0) {
    for (i in 1 : rows) {
      p[i] ~ dirichlet(rep_vector(2, 3));
    }
    target += penalty_lpdf(m | scale);
    factor ~ lkj_corr_cholesky(1.5);
    r[1, 2] ~ normal(0.5, 0.3);
    if (m[1, 2] > 5) {
      reject("m[1, 2] is ", m[1, 2]);
    }
    if (m[2, 3] > 5) {
      target += two[rows + 1];
    }
  }
  if (decays > 0) {
    rate ~ exponential(1);
    left ~ normal(ode_rk45(decay, rep_vector(1, decays), 0, {1.0}, rate)[1], scale);
  }
}
