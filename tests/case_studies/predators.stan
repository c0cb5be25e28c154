// Predators and prey by the older interface to the ODE solver, with lognormal noise.
functions {
  array[] real change(real t, array[] real n, array[] real rate, array[] real x_r,
                      array[] int x_i) {
    return {(rate[1] - rate[2] * n[2]) * n[1], (rate[3] * n[1] - rate[4]) * n[2]};
  }
}
data {
  int<lower=1> T;
  array[T] real<lower=0> year;
  array[T] vector<lower=0>[2] y;
}
transformed data {
  array[0] real x_r;
  array[0] int x_i;
}
parameters {
  array[4] real<lower=0> rate;
  array[2] real<lower=0> initial;
  vector<lower=0>[2] noise;
}
model {
  array[T, 2] real n = integrate_ode_rk45(change, initial, 0, year, rate, x_r, x_i);
  target += lognormal_lpdf(rate | [-0.7, -1.2, -1.6, -0.7], 0.4);
  target += lognormal_lpdf(initial | 1, 0.5);
  target += exponential_lpdf(noise | 3);
  for (t in 1 : T) {
    target += lognormal_lpdf(y[t] | log(n[t]), noise);
  }
}
