# The Rasch model by conditional maximum likelihood, difficulties summing to zero.
erm_rasch <- function(job) {
  y <- matrix(job$x, job$n_persons, job$n_items)
  fitted <- eRm::RM(y, sum0 = TRUE)
  list(
    difficulty = -as.double(fitted$betapar), standard_error = as.double(fitted$se.beta),
    log_likelihood = as.double(fitted$loglik), parameters = as.double(fitted$npar)
  )
}
