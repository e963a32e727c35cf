# R mirt, EM, without item standard errors (at 1,000 items they take longer than the fit); EAP with posterior SDs.
here <- dirname(sub("^--file=", "", grep("^--file=", commandArgs(), value = TRUE)))
source(file.path(here, "child.R"))
suppressPackageStartupMessages(library(mirt))

run_job(function(X, settings) {
  arguments <- list(X, 1, itemtype = "2PL", SE = FALSE, verbose = FALSE)
  if (!is.null(settings$quadpts)) arguments$quadpts <- settings$quadpts
  if (!is.null(settings$NCYCLES)) arguments$technical <- list(NCYCLES = settings$NCYCLES)
  fit <- suppressMessages(suppressWarnings(do.call(mirt, arguments)))
  scoring <- list(fit, method = "EAP", full.scores = TRUE, full.scores.SE = TRUE, verbose = FALSE)
  if (!is.null(settings$quadpts)) scoring$quadpts <- settings$quadpts
  scores <- suppressMessages(suppressWarnings(do.call(fscores, scoring)))
  items <- coef(fit, simplify = TRUE)$items
  list(theta = scores[, 1], theta_se = scores[, 2], a = items[, "a1"], d = items[, "d"],
       log_likelihood = extract.mirt(fit, "logLik"), iterations = extract.mirt(fit, "iterations"),
       status = if (extract.mirt(fit, "converged")) "converged" else "iteration_limit")
})
