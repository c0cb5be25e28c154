// Two hidden states that follow each other at random; the forward algorithm sums over them.
functions {
  real forward_lpdf(vector y, array[] vector step, vector centre, real spread) {
    int K = num_elements(centre);
    vector[K] ahead = rep_vector(-log(K), K);
    for (t in 1 : num_elements(y)) {
      vector[K] reached;
      for (k in 1 : K) {
        vector[K] from = ahead;
        if (t > 1) {
          for (j in 1 : K) {
            from[j] += log(step[j, k]);
          }
          reached[k] = log_sum_exp(from);
        } else {
          reached[k] = from[k];
        }
        reached[k] += normal_lpdf(y[t] | centre[k], spread);
      }
      ahead = reached;
    }
    return log_sum_exp(ahead);
  }
}
data {
  int<lower=1> T;
  vector[T] y;
}
parameters {
  array[2] simplex[2] step;
  ordered[2] centre;
  real<lower=0> spread;
}
model {
  step[1] ~ dirichlet([8, 2]');
  step[2] ~ dirichlet([2, 8]');
  // Ordered centres are half of all pairs.
  target += normal_lpdf(centre | 0, 3) + log(2);
  spread ~ gamma(3, 3);
  y ~ forward(step, centre, spread);
}
