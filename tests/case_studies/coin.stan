// A point null: a fair coin, without any parameter.
data {
  int<lower=0> n;
  int<lower=0, upper=n> k;
}
model {
  target += binomial_lpmf(k | n, 0.5);
}
