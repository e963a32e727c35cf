# R TAM at its defaults (21 nodes), latent variance 1; P = plogis(a theta + d) with d = AXsi. Its errors of a are kept;
# it has no covariance of a and d, and so no error of b.
here <- dirname(sub("^--file=", "", grep("^--file=", commandArgs(), value = TRUE)))
source(file.path(here, "child.R"))
suppressPackageStartupMessages(library(TAM))

run_job(function(X, settings) {
  control <- list(progress = FALSE)
  if (!is.null(settings$nodes)) control$nodes <- seq(-6, 6, length.out = settings$nodes)
  if (!is.null(settings$maxiter)) control$maxiter <- settings$maxiter
  fit <- suppressWarnings(tam.mml.2pl(X, irtmodel = "2PL", control = control, verbose = FALSE))
  limit <- if (is.null(settings$maxiter)) 1000 else settings$maxiter
  list(theta = fit$person$EAP, theta_se = fit$person$SD.EAP, a = fit$B[, 2, 1], d = fit$AXsi[, 2],
       a_se = fit$se.B[, 2, 1], log_likelihood = as.numeric(logLik(fit)), iterations = fit$iter,
       status = if (fit$iter < limit) "converged" else "iteration_limit")
})
