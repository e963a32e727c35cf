// 3PL: P = c_j + (1 - c_j) / (1 + exp(-a_j (theta_i - b_j))), theta ~ N(0, 1), every c above 0.
functions {
#include include/irt.stanfunctions
}
data {
#include include/data.stan
#include include/slopes.stan
  real<lower=0> sd_slope_prior;
  vector<lower=0, upper=1>[J] centering_slope;
  vector[J] tilt; // how an item's location, as it is sampled, goes with its log slope in the posterior
  vector<lower=0>[J] scale_slope;
  // Guessing: 0 fixed at `guessing`, 1 beta with the shapes in guessing_prior, 2 logit-normal with mean and SD.
  int<lower=0, upper=2> guessing_kind;
  real<lower=0, upper=1> guessing;
  array[2] real guessing_prior;
  // The cells with successes, in groups of equal successes, as above.
  int<lower=0> n_success_groups;
  int<lower=0> n_success_cells;
  array[n_success_groups] int<lower=1, upper=(by_person ? N : J)> success_group;
  array[n_success_groups] int<lower=1> success_group_trials;
  array[n_success_groups + 1] int<lower=1, upper=n_success_cells + 1> success_group_first;
  array[n_success_cells] int<lower=1, upper=(by_person ? J : N)> success_member;
}
transformed data {
  array[max(N, J)] int zeros = rep_array(0, max(N, J));
  vector[J] item_score = (rep_row_vector(1, N) * to_matrix(successes))';
  vector[J] item_failures = (rep_row_vector(1, N) * to_matrix(trials))' - item_score;
}
parameters {
  vector<multiplier=width>[N] z;
  real<multiplier=inv_sqrt(N)> m;
  real<offset=log(N - 1.0), multiplier=sqrt(2.0 / (N - 1))> log_q;
  vector<multiplier=scale_slope>[J] slope_raw;
  vector<multiplier=scale_location>[J] location_raw;
  vector[guessing_kind == 0 ? 0 : J] logit_c;
  // Of the population, in the programs' own unit: mu_log_a + log s, log sd_log_a, (mu_b - m) / s, log(sd_b / s).
  vector<multiplier=inv_sqrt(J)>[population] mu_slope;
  vector<multiplier=inv_sqrt(J)>[population] log_sd_slope;
  vector<multiplier=inv_sqrt(J)>[population] mu_place;
  vector<multiplier=inv_sqrt(J)>[population] log_sd_place;
}
transformed parameters {
  real s = sqrt(exp(log_q) / N);
  vector[N] theta = m + s * standardized(z);
  vector[population] mu_log_a = mu_slope - log(s);
  vector[population] sd_log_a = exp(log_sd_slope);
  vector[population] mu_b = m + s * mu_place;
  vector[population] sd_b = s * exp(log_sd_place);
  real slope_mean = population ? mu_log_a[1] : slope_prior[1];
  real slope_sd = population ? sd_log_a[1] : slope_prior[2];
  real location_mean = population ? mu_b[1] : location_prior[1];
  real location_sd = population ? sd_b[1] : location_prior[2];
  vector[J] log_a = from_raw(slope_raw, rep_vector(slope_mean + log(s), J), slope_sd, centering_slope) - log(s);
  vector[J] a = exp(log_a);
  vector[J] d = intercepts(location_raw, a, m, s, location_of_intercept, location_mean, location_sd,
                           centering_location, tilt .* (log_a + log(s)));
  vector[J] c = guessing_kind == 0 ? rep_vector(guessing, J) : inv_logit(logit_c);
}
model {
  z ~ sphere(width);
  m ~ normal(0, inv_sqrt(N));
  log_q ~ log_chi_square(N);
  mu_log_a ~ normal(slope_prior[1], slope_prior[2]);
  sd_log_a ~ normal(0, sd_slope_prior);
  mu_b ~ normal(location_prior[1], location_prior[2]);
  sd_b ~ normal(0, sd_location_prior);
  target += sum(log(sd_log_a)); // of sd_log_a by log_sd_slope
  target += population * log(s) + sum(log(sd_b)); // of mu_b and sd_b by mu_place and log_sd_place
  log_a ~ normal(slope_mean, slope_sd);
  target += log_volume(slope_sd, centering_slope);
  d ~ locations(a, s, location_of_intercept, location_mean, location_sd, centering_location);
  if (guessing_kind == 1) {
    target += beta_lpdf(c | guessing_prior[1], guessing_prior[2]) + sum(log(c)) + sum(log1m(c)); // of c by logit c
  } else if (guessing_kind == 2) {
    logit_c ~ normal(guessing_prior[1], guessing_prior[2]);
  }
  // log(c + exp(eta)) = log c + log(1 + exp(eta - log c)), over successes.
  vector[J] log_c = log(c);
  target += dot_product(item_score, log_c) + dot_product(item_failures, log1m(c))
            + sum_softplus(theta, a, d - log_c, by_person, success_group, success_group_trials, success_group_first,
                           success_member, zeros)
            - sum_softplus(theta, a, d, by_person, group, group_trials, group_first, member, zeros);
}
generated quantities {
  vector[J] b = -d ./ a;
  vector[want_log_lik ? N : 0] log_lik;
  vector[want_score_rep ? N : 0] score_rep;
  if (want_log_lik) {
    log_lik = marginal_log_likelihood(theta, successes, trials, a, d, c, 1);
  }
  if (want_score_rep) {
    score_rep = replicated_scores_rng(theta, trials, a, d, c);
  }
}
