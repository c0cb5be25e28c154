data {
  int<lower=1> N;
  vector[N] x;
  vector[N] y;
}
parameters {
  real<lower=0, upper=1> share;
  vector<lower=-1, upper=2>[2] slope;
  real<lower=0.5> high;
  real<upper=1> low;
  real<lower=0> noise;
}
model {
  share ~ beta(2, 3);
  slope ~ uniform(-1, 2);
  high ~ normal(2, 1) T[0.5, ];
  low ~ normal(0, 1) T[, 1];
  noise ~ gamma(2, 4);
  y ~ normal(share * high + (1 - share) * low + slope[1] * x + slope[2] * square(x), noise);
}
