data {
  int<lower=1> N;
  vector[N] x;
  array[N] int<lower=0> y;
}
parameters {
  real alpha, beta;
  real<lower=0> spread;
  vector[N] effect;
}
model {
  alpha ~ normal(1, 1);
  beta ~ normal(0, 1);
  spread ~ exponential(2);
  effect ~ std_normal();
  y ~ poisson_log(alpha + beta * x + spread * effect);
}
