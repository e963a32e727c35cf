  // Density of log a, or of its mean over the population.
  array[2] real slope_prior;
  // Whether location_prior is that of the intercepts d and not of the difficulties b = -d / a.
  int<lower=0, upper=1> location_of_intercept;
