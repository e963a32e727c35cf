# The Rasch model as a generalized linear mixed model: fixed items, random persons, 25 adaptive nodes.
glmer_rasch <- function(job) {
  y <- matrix(job$x, job$n_persons, job$n_items)
  long <- data.frame(
    y = as.vector(y), person = factor(as.vector(row(y))), item = factor(as.vector(col(y)))
  )
  control <- lme4::glmerControl(optimizer = "bobyqa", optCtrl = list(maxfun = 1e5, rhoend = 1e-9))
  fitted <- lme4::glmer(
    y ~ 0 + item + (1 | person), long[!is.na(long$y), ], binomial, nAGQ = 25, control = control
  )
  list(
    easiness = as.double(lme4::fixef(fitted)), variance = as.double(lme4::VarCorr(fitted)$person[1]),
    log_likelihood = as.double(stats::logLik(fitted))
  )
}
