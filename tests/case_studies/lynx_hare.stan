// Lynx and hare, after the Stan case study on Lotka and Volterra: an ODE at coarse tolerances.
functions {
  array[] real change(real t, array[] real z, array[] real theta, array[] real x_r,
                      array[] int x_i) {
    return {(theta[1] - theta[2] * z[2]) * z[1], (-theta[3] + theta[4] * z[1]) * z[2]};
  }
}
data {
  int<lower=0> N;
  array[N] real ts;
  array[2] real y_init;
  array[N, 2] real<lower=0> y;
}
parameters {
  array[4] real<lower=0> theta;
  array[2] real<lower=0> z_init;
  array[2] real<lower=0> sigma;
}
transformed parameters {
  array[N, 2] real z = integrate_ode_rk45(change, z_init, 0, ts, theta, rep_array(0.0, 0),
                                          rep_array(0, 0), 1e-5, 1e-3, 500);
}
model {
  theta[{1, 3}] ~ normal(1, 0.5);
  theta[{2, 4}] ~ normal(0.05, 0.05);
  sigma ~ lognormal(-1, 1);
  z_init ~ lognormal(log(10), 1);
  for (k in 1 : 2) {
    y_init[k] ~ lognormal(log(z_init[k]), sigma[k]);
    y[ : , k] ~ lognormal(log(z[ : , k]), sigma[k]);
  }
}
generated quantities {
  array[2] real next_year;
  for (k in 1 : 2) {
    next_year[k] = lognormal_rng(log(z[N, k]), sigma[k]);
  }
}
