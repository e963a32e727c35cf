// 1PL: P = 1 / (1 + exp(-a (theta_i - b_j))), one a for all items, theta ~ N(0, 1).
functions {
#include include/irt.stanfunctions
}
data {
#include include/data.stan
#include include/slopes.stan
  real<lower=0> scale_common;
}
transformed data {
  array[max(N, J)] int zeros = rep_array(0, max(N, J));
  matrix[N, J] y = to_matrix(successes);
  vector[N] person_score = y * rep_vector(1, J);
  vector[J] item_score = (rep_row_vector(1, N) * y)';
}
parameters {
  vector<multiplier=width>[N] z;
  real<multiplier=inv_sqrt(N)> m;
  real<offset=log(N - 1.0), multiplier=sqrt(2.0 / (N - 1))> log_q;
  real<multiplier=scale_common> log_slope; // log a + log s
  vector<multiplier=scale_location>[J] location_raw;
  // Of the population, in the programs' own unit: (mu_b - m) / s, log(sd_b / s).
  vector<multiplier=inv_sqrt(J)>[population] mu_place;
  vector<multiplier=inv_sqrt(J)>[population] log_sd_place;
}
transformed parameters {
  real s = sqrt(exp(log_q) / N);
  vector[N] theta = m + s * standardized(z);
  vector[population] mu_b = m + s * mu_place;
  vector[population] sd_b = s * exp(log_sd_place);
  real location_mean = population ? mu_b[1] : location_prior[1];
  real location_sd = population ? sd_b[1] : location_prior[2];
  vector[J] a = rep_vector(exp(log_slope) / s, J);
  vector[J] d = intercepts(location_raw, a, m, s, location_of_intercept, location_mean, location_sd,
                           centering_location, rep_vector(0, J));
}
model {
  z ~ sphere(width);
  m ~ normal(0, inv_sqrt(N));
  log_q ~ log_chi_square(N);
  log_slope ~ normal(slope_prior[1] + log(s), slope_prior[2]);
  mu_b ~ normal(location_prior[1], location_prior[2]);
  sd_b ~ normal(0, sd_location_prior);
  target += population * log(s) + sum(log(sd_b)); // of mu_b and sd_b by mu_place and log_sd_place
  d ~ locations(a, s, location_of_intercept, location_mean, location_sd, centering_location);
  target += a[1] * dot_product(theta, person_score) + dot_product(item_score, d)
            - sum_softplus(theta, a, d, by_person, group, group_trials, group_first, member, zeros);
}
generated quantities {
  vector[J] b = -d ./ a;
  vector[want_log_lik ? N : 0] log_lik;
  vector[want_score_rep ? N : 0] score_rep;
  if (want_log_lik) {
    log_lik = marginal_log_likelihood(theta, successes, trials, a, d, rep_vector(0, 0), 1);
  }
  if (want_score_rep) {
    score_rep = replicated_scores_rng(theta, trials, a, d, rep_vector(0, 0));
  }
}
