// Every solver of differential equations that Stan has, one at a time: y' = -k y.
functions {
  vector change(real t, vector y, real k) {
    return -k * y;
  }
  array[] real old_change(real t, array[] real y, array[] real k, array[] real x_r,
                          array[] int x_i) {
    return {-k[1] * y[1]};
  }
  vector residual(real t, vector y, vector y_change, real k) {
    return y_change + k * y;
  }
}
data {
  int which;
}
transformed data {
  array[0] real x_r;
  array[0] int x_i;
  vector[1] y = [1]', tol = [1e-6]';
  real e = 1e-6;
  int most = 1000000;
  // Not a density's work, so not counted.
  array[1] vector[1] known = ode_rk45(change, y, 0, {1.0}, 0.5);
}
parameters {
  real<lower=0> k;
}
model {
  k ~ exponential(1);
  vector[1] end;
  if (which == 1) end = ode_rk45(change, y, 0, {1.0}, k)[1];
  if (which == 2) end = ode_rk45_tol(change, y, 0, {1.0}, e, e, most, k)[1];
  if (which == 3) end = ode_ckrk(change, y, 0, {1.0}, k)[1];
  if (which == 4) end = ode_ckrk_tol(change, y, 0, {1.0}, e, e, most, k)[1];
  if (which == 5) end = ode_bdf(change, y, 0, {1.0}, k)[1];
  if (which == 6) end = ode_bdf_tol(change, y, 0, {1.0}, e, e, most, k)[1];
  if (which == 7) end = ode_adams(change, y, 0, {1.0}, k)[1];
  if (which == 8) end = ode_adams_tol(change, y, 0, {1.0}, e, e, most, k)[1];
  if (which == 9)
    end = ode_adjoint_tol_ctl(change, y, 0, {1.0}, e, tol, e, tol, e, e, most, 250, 2, 1, 1, k)[1];
  if (which == 10) end = dae(residual, y, [-k]', 0, {1.0}, k)[1];
  if (which == 11) end = dae_tol(residual, y, [-k]', 0, {1.0}, e, e, most, k)[1];
  if (which == 12)
    end = to_vector(integrate_ode_rk45(old_change, {1.0}, 0, {1.0}, {k}, x_r, x_i)[1]);
  if (which == 13)
    end = to_vector(integrate_ode_bdf(old_change, {1.0}, 0, {1.0}, {k}, x_r, x_i)[1]);
  if (which == 14)
    end = to_vector(integrate_ode_adams(old_change, {1.0}, 0, {1.0}, {k}, x_r, x_i)[1]);
  target += end[1];
}
