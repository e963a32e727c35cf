# Logistic regressions of one item on matching variable and group, by R's own glm: binomial, and quasibinomial with F.
dif_glm <- function(job) {
  y <- cbind(job$x, job$n - job$x)
  m <- (job$m - mean(job$m)) / sqrt(mean((job$m - mean(job$m))^2))
  group <- factor(job$group)
  control <- stats::glm.control(epsilon = 1e-14, maxit = 100)
  fits <- lapply(list(y ~ m, y ~ m + group, y ~ m * group), function(f) {
    stats::glm(f, family = stats::binomial(), control = control)
  })
  quasi <- stats::glm(y ~ m * group, family = stats::quasibinomial(), control = control)
  f <- stats::anova(stats::glm(y ~ m, family = stats::quasibinomial(), control = control), quasi, test = "F")
  uniform <- summary(fits[[2]])$coefficients
  full <- summary(fits[[3]])$coefficients
  # Mantel-Haenszel wants more than one person in a stratum.
  kept <- job$score %in% as.numeric(names(which(table(job$score) > 1)))
  mh <- if (all(job$n == 1)) {
    stats::mantelhaen.test(
      factor(1 - job$x[kept]), factor(-job$group[kept]), factor(job$score[kept]), correct = TRUE
    )
  }
  list(
    mh = if (is.null(mh)) 0 else as.double(c(log(mh$estimate), log(mh$conf.int), mh$p.value)),
    deviance = as.double(vapply(fits, stats::deviance, 0)), uniform = as.double(uniform[3, 1:2]),
    slope = as.double(full[4, 1:2]), phi = as.double(summary(quasi)$dispersion), f = as.double(f[2, c("F", "Pr(>F)")])
  )
}
