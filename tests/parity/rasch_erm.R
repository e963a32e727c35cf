# The Rasch model by conditional maximum likelihood, difficulties summing to zero.
erm_rasch <- function(job) {
  y <- matrix(job$x, job$n_persons, job$n_items)
  fitted <- eRm::RM(y, sum0 = TRUE)
  list(
    difficulty = -as.double(fitted$betapar), standard_error = as.double(fitted$se.beta),
    log_likelihood = as.double(fitted$loglik), parameters = as.double(fitted$npar)
  )
}

# Andersen's test and Wald tests of the items; `split` is "mean", "median" or one number a person (0: first group).
erm_andersen <- function(job) {
  y <- matrix(job$x, job$n_persons, job$n_items)
  fitted <- eRm::RM(y, sum0 = TRUE)
  split <- if (length(job$first) > 1) 1 - as.double(job$first) else job$split
  test <- eRm::LRtest(fitted, splitcr = split)
  wald <- eRm::Waldtest(fitted, splitcr = split)
  list(
    statistic = test$LR, df = as.double(test$df), p_value = test$pvalue, z = as.double(wald$coef.table[, 1]),
    p = as.double(wald$coef.table[, 2]), first = -as.double(wald$betapar1), second = -as.double(wald$betapar2),
    se_first = as.double(wald$se.beta1), se_second = as.double(wald$se.beta2)
  )
}
