// Flat densities between bounds, of every bounded kind, a unit vector with a density of its own,
// and an old-fashioned half-normal.
data {
  int<lower=1> K;
  int<lower=0, upper=1> nested;
}
parameters {
  vector<lower=-20, upper=20>[4] alpha;
  simplex[K] p;
  corr_matrix[3] R;
  cholesky_factor_corr[3] L;
  unit_vector[3] u;
  array[nested] real<lower=0, upper=1> first;
  array[nested] real<lower=0, upper=1 + sum(first)> second;
  real<lower=0> tau;
}
model {
  tau ~ normal(0, 2);
}
