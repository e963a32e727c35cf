# mirt's own SAT12 data (600 persons, 32 items), scored, and what its residuals and M2 say of a model of them. LD-X2 and
# Q3 of pairs run down the columns of the lower triangle.
mirt_local_dependence <- function(job) {
  data("SAT12", package = "mirt", envir = environment())
  key <- c(1, 4, 5, 2, 3, 1, 2, 1, 3, 1, 2, 4, 2, 1, 5, 3, 4, 4, 1, 4, 3, 3, 4, 1, 3, 5, 1, 3, 1, 5, 4, 5)
  y <- mirt::key2binary(SAT12, key = key)
  arguments <- list(data = y, model = 1, itemtype = job$model, TOL = 1e-8, verbose = FALSE)
  arguments$technical <- list(NCYCLES = 5000)
  fitted <- do.call(mirt::mirt, arguments)
  ld <- mirt::residuals(fitted, type = "LD", verbose = FALSE)
  q3 <- mirt::residuals(fitted, type = "Q3", verbose = FALSE)
  table <- mirt::coef(fitted, simplify = TRUE)
  found <- mirt::M2(fitted)
  list(
    responses = as.double(y), slope = as.double(table$items[, "a1"]), intercept = as.double(table$items[, "d"]),
    variance = as.double(table$cov[1, 1]), ld_x2 = as.double(ld[lower.tri(ld)]),
    signed_v = as.double(t(ld)[lower.tri(ld)]), q3 = as.double(q3[lower.tri(q3)]),
    m2 = as.double(found[c("M2", "df", "SRMSR", "CFI", "TLI")])
  )
}
