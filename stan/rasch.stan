// Rasch: P = 1 / (1 + exp(-(theta_i - b_j))), theta ~ N(0, sigma).
functions {
#include include/irt.stanfunctions
}
data {
#include include/data.stan
  real<lower=0> latent_sd_prior; // of sigma, half-normal
  real<lower=0> scale_common;
}
transformed data {
  array[max(N, J)] int zeros = rep_array(0, max(N, J));
  vector[J] ones = rep_vector(1, J);
  matrix[N, J] y = to_matrix(successes);
  vector[N] person_score = y * ones;
  vector[J] item_score = (rep_row_vector(1, N) * y)';
}
parameters {
  vector<multiplier=width>[N] z;
  real m_raw; // mean of the abilities, in its standard errors sigma / sqrt(N)
  real<offset=log(N - 1.0), multiplier=sqrt(2.0 / (N - 1))> log_q; // of q = N s^2 / sigma^2
  real<multiplier=scale_common> log_s; // of the SD of the abilities at hand, which the responses tell; sigma follows
  vector<multiplier=scale_location>[J] location_raw; // of b - m
  vector<multiplier=inv_sqrt(J)>[population] mu_place; // mu_b - m
  vector<multiplier=inv_sqrt(J)>[population] log_sd_place; // log sd_b
}
transformed parameters {
  real s = exp(log_s);
  real sigma = s * sqrt(N / exp(log_q));
  real m = m_raw * sigma * inv_sqrt(N);
  vector[N] theta = m + s * standardized(z);
  vector[population] mu_b = m + mu_place;
  vector[population] sd_b = exp(log_sd_place);
  real location_mean = population ? mu_b[1] : location_prior[1];
  real location_sd = population ? sd_b[1] : location_prior[2];
  vector[J] d = intercepts(location_raw, ones, m, 1, 0, location_mean, location_sd, centering_location,
                           rep_vector(0, J));
}
model {
  z ~ sphere(width);
  m_raw ~ std_normal();
  log_q ~ log_chi_square(N);
  sigma ~ normal(0, latent_sd_prior);
  target += log(sigma); // of sigma by log_s, given q
  mu_b ~ normal(location_prior[1], location_prior[2]);
  sd_b ~ normal(0, sd_location_prior);
  target += sum(log(sd_b)); // of sd_b by log_sd_place
  d ~ locations(ones, 1, 0, location_mean, location_sd, centering_location);
  target += dot_product(theta, person_score) + dot_product(item_score, d)
            - sum_softplus(theta, ones, d, by_person, group, group_trials, group_first, member, zeros);
}
generated quantities {
  vector[J] b = -d;
  vector[want_log_lik ? N : 0] log_lik;
  vector[want_score_rep ? N : 0] score_rep;
  if (want_log_lik) {
    log_lik = marginal_log_likelihood(theta, successes, trials, ones, d, rep_vector(0, 0), sigma);
  }
  if (want_score_rep) {
    score_rep = replicated_scores_rng(theta, trials, ones, d, rep_vector(0, 0));
  }
}
