// An epidemic in a closed population: an ODE whose prevalence is seen as noisy counts.
functions {
  vector infection(real t, vector state, real contact, real recovery) {
    real new_cases = contact * state[1] * state[2];
    return [-new_cases, new_cases - recovery * state[2], recovery * state[2]]';
  }
}
data {
  int<lower=1> T;
  int<lower=1> population;
  array[T] real<lower=0> day;
  array[T] int<lower=0> y;
}
parameters {
  real<lower=0> contact, recovery, overdispersion;
  real<lower=0, upper=0.05> first_infected;
}
transformed parameters {
  array[T] vector[3] state = ode_rk45(infection, [1 - first_infected, first_infected, 0]', 0, day,
                                      contact, recovery);
}
model {
  contact ~ lognormal(0, 0.5);
  recovery ~ lognormal(-1, 0.5);
  overdispersion ~ exponential(5);
  first_infected ~ uniform(0, 0.05);
  for (t in 1 : T) {
    y[t] ~ neg_binomial_2(population * fmax(state[t, 2], 1e-9), inv(overdispersion));
  }
}
generated quantities {
  real reproduction_number = contact / recovery;
}
