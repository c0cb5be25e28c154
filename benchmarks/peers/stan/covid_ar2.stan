data {
  int<lower=3> N;
  int<lower=0> y[N];
  real log_stationary;
}
parameters {
  real<lower=0> sigma;
  real<lower=0> phi;
  real<lower=0> r;
  real<lower=0, upper=1> rho1;
  real<lower=0, upper=1> rho2;
  vector[N + 1] eps;
}
model {
  real share = 1 - square(rho1) - square(rho2) - 2 * square(rho1) * rho2 / (1 - rho2);
  real s = sigma * sqrt(fabs(share));
  vector[N] g;
  vector[N] f;
  target += normal_lpdf(sigma | 0, 0.2) - normal_lccdf(0 | 0, 0.2);
  target += normal_lpdf(phi | 0, 5) - normal_lccdf(0 | 0, 5);
  target += normal_lpdf(r | 0.01, 0.001) - normal_lccdf(0 | 0.01, 0.001);
  target += normal_lpdf(rho1 | 0.8, 0.05)
            - log_diff_exp(normal_lcdf(1 | 0.8, 0.05), normal_lcdf(0 | 0.8, 0.05));
  target += normal_lpdf(rho2 | 0.1, 0.05)
            - log_diff_exp(normal_lcdf(1 | 0.1, 0.05), normal_lcdf(0 | 0.1, 0.05));
  target += share > 0 ? -log_stationary : negative_infinity();
  target += normal_lpdf(eps[1] | -1, 0.1);
  target += normal_lpdf(eps[2] | -1, s);
  target += normal_lpdf(eps[3:(N + 1)] | rho1 * eps[2:N] + rho2 * eps[1:(N - 1)], s);
  for (t in 1:N) {
    g[t] = exp(-square(t - 0.5) * r) - exp(-square(t + 0.5) * r);
    f[t] = 1e-5;
    for (u in 1:(t - 1)) f[t] = f[t] + exp(eps[t]) * f[u] * g[t - u];
  }
  target += neg_binomial_2_lpmf(y | f, phi);
}
