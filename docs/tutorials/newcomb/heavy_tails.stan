// The same measurements with errors that are now and then large.
data {
  int<lower=1> n;
  vector[n] time;
  real<lower=0> scale;  // of the prior of sigma
}
parameters {
  real mu;
  real<lower=0> sigma;
}
model {
  mu ~ normal(25, 10);
  sigma ~ normal(0, scale) T[0, ];
  time ~ student_t(3, mu, sigma);
}
