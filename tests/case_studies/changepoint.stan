// Yearly counts whose rate changes once; the year is summed over, and found again afterwards.
data {
  int<lower=2> T;
  array[T] int<lower=0> y;
}
transformed data {
  array[T] int seen = cumulative_sum(y);
  real even = -log(T - 1);
}
parameters {
  real<lower=0> early, late;
}
transformed parameters {
  vector[T - 1] by_year;
  for (s in 1 : T - 1) {
    by_year[s] = even + seen[s] * log(early) - s * early
                 + (seen[T] - seen[s]) * log(late) - (T - s) * late;
  }
  by_year -= sum(lgamma(to_vector(y) + 1));
}
model {
  early ~ exponential(0.3);
  late ~ exponential(0.3);
  target += log_sum_exp(by_year);
}
generated quantities {
  int year = categorical_logit_rng(by_year);
}
