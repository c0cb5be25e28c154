// Answers of people to items that differ in difficulty and in how sharply they tell people apart.
data {
  int<lower=1> I, P, N;
  array[N] int<lower=1, upper=I> item;
  array[N] int<lower=1, upper=P> person;
  array[N] int<lower=0, upper=1> y;
}
parameters {
  vector[P] ability;
  vector[I] difficulty;
  vector<lower=0>[I] sharpness;
  real<lower=0> spread;
}
model {
  ability ~ std_normal();
  difficulty ~ normal(0, spread);
  spread ~ exponential(1);
  sharpness ~ lognormal(0, 0.5);
  y ~ bernoulli_logit(sharpness[item] .* (ability[person] - difficulty[item]));
}
