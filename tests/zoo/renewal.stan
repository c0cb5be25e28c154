data {
  int<lower=3> N;
  array[N] int<lower=0> y;
  real log_stationary;
}
parameters {
  real<lower=0> sigma, phi, r;
  real<lower=0, upper=1> rho1, rho2;
  vector[N + 1] eps;
}
model {
  real share = 1 - square(rho1) - square(rho2) - 2 * square(rho1) * rho2 / (1 - rho2);
  real s = sigma * sqrt(abs(share));
  vector[N] g;
  vector[N] f;

  sigma ~ normal(0, 0.2) T[0, ];
  phi ~ normal(0, 5) T[0, ];
  r ~ normal(0.01, 0.001) T[0, ];
  rho1 ~ normal(0.8, 0.05) T[0, 1];
  rho2 ~ normal(0.1, 0.05) T[0, 1];
  target += share > 0 ? -log_stationary : negative_infinity();
  eps[1] ~ normal(-1, 0.1);
  eps[2] ~ normal(-1, s);
  eps[3 : N + 1] ~ normal(rho1 * eps[2 : N] + rho2 * eps[1 : N - 1], s);

  for (t in 1 : N) {
    g[t] = exp(-square(t - 0.5) * r) - exp(-square(t + 0.5) * r);
    f[t] = 1e-5;
    for (u in 1 : t - 1) {
      f[t] += exp(eps[t]) * f[u] * g[t - u];
    }
  }
  y ~ neg_binomial_2(f, phi);
}
