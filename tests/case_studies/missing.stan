// Two measurements of which the second is often missing: what is missing is a parameter.
data {
  int<lower=1> N;
  int<lower=0, upper=N> M;
  array[M] int<lower=1, upper=N> where_missing;
  array[N - M] int<lower=1, upper=N> where_seen;
  vector[N] first;
  vector[N - M] second_seen;
}
parameters {
  vector[2] mu;
  cov_matrix[2] sigma;
  vector[M] second_missing;
}
model {
  array[N] vector[2] both;
  for (n in 1 : N) {
    both[n, 1] = first[n];
  }
  both[where_seen, 2] = to_array_1d(second_seen);
  both[where_missing, 2] = to_array_1d(second_missing);
  mu ~ normal(0, 5);
  sigma ~ inv_wishart(5, 2 * identity_matrix(2));
  both ~ multi_normal(mu, sigma);
}
