// Intercepts and slopes that vary together over groups, non-centred, with an LKJ prior.
data {
  int<lower=1> N, J;
  array[N] int<lower=1, upper=J> group;
  vector[N] x;
  vector[N] y;
}
parameters {
  vector[2] mean_effect;
  vector<lower=0>[2] spread;
  cholesky_factor_corr[2] factor;
  matrix[2, J] z;
  real<lower=0> noise;
}
transformed parameters {
  matrix[2, J] effect = rep_matrix(mean_effect, J) + diag_pre_multiply(spread, factor) * z;
}
model {
  mean_effect ~ normal(0, 2);
  spread ~ exponential(1);
  factor ~ lkj_corr_cholesky(2);
  to_vector(z) ~ std_normal();
  noise ~ exponential(1);
  for (n in 1:N)
    y[n] ~ normal(effect[1, group[n]] + effect[2, group[n]] * x[n], noise);
}
generated quantities {
  real correlation = multiply_lower_tri_self_transpose(factor)[1, 2];
}
