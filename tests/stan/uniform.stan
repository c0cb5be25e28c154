// Flat densities between bounds, on a simplex and on a sphere, and a half-normal without its factor.
data {
  int<lower=1> K;
  int<lower=0, upper=1> nested;
}
parameters {
  vector<lower=-20, upper=20>[4] alpha;
  simplex[K] p;
  unit_vector[3] u;
  array[nested] real<lower=0, upper=1> first;
  array[nested] real<lower=0, upper=1 + sum(first)> second;
  real<lower=0> tau;
}
model {
  tau ~ normal(0, 2);
}
