// The 2PL with a population of items, written plainly and by hand for test_brms.py: nothing of psychoeval's own.
data {
  int N;
  int J;
  int K;
  array[K] int person;
  array[K] int item;
  array[K] int y;
}
parameters {
  vector[N] theta;
  vector[J] log_a;
  vector[J] b;
  real mu_log_a;
  real<lower=0> sd_log_a;
  real mu_b;
  real<lower=0> sd_b;
}
model {
  theta ~ std_normal();
  mu_log_a ~ normal(0, 1);
  sd_log_a ~ normal(0, 1);
  mu_b ~ normal(0, 3);
  sd_b ~ normal(0, 3);
  log_a ~ normal(mu_log_a, sd_log_a);
  b ~ normal(mu_b, sd_b);
  y ~ bernoulli_logit(exp(log_a[item]) .* (theta[person] - b[item]));
}
