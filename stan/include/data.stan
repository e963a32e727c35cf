  int<lower=3> N; // persons
  int<lower=1> J; // items
  array[N, J] int<lower=0> trials; // 0: not administered
  array[N, J] int<lower=0> successes;
  // The cells with trials, in groups: see sum_softplus.
  int<lower=0, upper=1> by_person;
  int<lower=0> n_groups;
  int<lower=0> n_cells;
  array[n_groups] int<lower=1, upper=(by_person ? N : J)> group;
  array[n_groups] int<lower=1> group_trials;
  array[n_groups + 1] int<lower=1, upper=n_cells + 1> group_first;
  array[n_cells] int<lower=1, upper=(by_person ? J : N)> member;
  // Whether the items are a population with estimated means and SDs. If so, the priors below are those of its means,
  // normal with this mean and SD, and of its SDs, half-normal; if not, the priors are the items' own, normal too.
  int<lower=0, upper=1> population;
  array[2] real location_prior;
  real<lower=0> sd_location_prior;
  // No part of the model, but what sets the sampler's pace: how items are sampled (see from_raw), and about what SDs the
  // responses leave of abilities, in units of their SD, of items and of what is common to all. In these units the
  // sampler starts, before it has found its own.
  vector<lower=0, upper=1>[J] centering_location;
  real<lower=0> width;
  vector<lower=0>[J] scale_location;
  // What is put out beside parameters.
  int<lower=0, upper=1> want_log_lik;
  int<lower=0, upper=1> want_score_rep;
