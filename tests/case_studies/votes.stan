// Where the votes go: shares of parties that wander over time, as a simplex at the start.
data {
  int<lower=1> T;
  int<lower=2> K;
  array[T, K] int<lower=0> votes;
}
parameters {
  simplex[K] start;
  matrix[T - 1, K - 1] step;
  real<lower=0> pace;
}
model {
  vector[K] log_share = log(start);
  start ~ dirichlet(rep_vector(3, K));
  to_vector(step) ~ std_normal();
  pace ~ normal(0, 0.3) T[0, ];
  for (t in 1 : T) {
    if (t > 1) {
      log_share[1 : K - 1] += pace * step[t - 1]';
    }
    votes[t] ~ multinomial_logit(log_share);
  }
}
