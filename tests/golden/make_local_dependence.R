# Local dependence and limited-information fit by R's mirt, for tests/parity/test_local_dependence_mirt.py and
# tests/parity/test_model_fit_mirt.py.
# Run in the checkout: Rscript --vanilla tests/golden/make_local_dependence.R
# It writes tests/golden/mirt_local_dependence.json, and data/simulated_500.csv where that is not there. Then bring
# tests/golden/manifest.json up to date.
#
# Pairs run down the columns of the lower triangle: (1,2), (1,3), ..., (2,3), ... Complete data have M2 too. Its RMSEA
# interval comes from uniroot at its default tolerance, 1.2e-4 of the noncentrality.

suppressPackageStartupMessages(library(mirt))

number <- function(x) ifelse(is.finite(x), formatC(as.numeric(x), digits = 17, format = "g", width = 1), "null")
numbers <- function(x) paste0("[", paste(number(x), collapse = ", "), "]")
object <- function(...) {
  parts <- c(...)
  paste0("{", paste0("\"", names(parts), "\": ", parts, collapse = ", "), "}")
}

models <- c(rasch = "Rasch", one_pl = "1PL", two_pl = "2PL", three_pl_fixed = "3PL-fixed")

make_simulated <- function(path) {
  set.seed(20240801)
  a <- exp(rnorm(20, 0, 0.3))
  d <- rnorm(20, 0, 1)
  p <- plogis(outer(rnorm(500), a) + rep(d, each = 500))
  y <- matrix(as.integer(runif(10000) < p), 500, 20)
  colnames(y) <- paste0("item-", 1:20)
  write.csv(y, path, row.names = FALSE, quote = FALSE)
}

fitted_to <- function(y, model) {
  arguments <- list(data = y, model = 1, itemtype = if (model == "Rasch") "Rasch" else "2PL", TOL = 1e-10,
                    quadpts = 61, technical = list(NCYCLES = 5000), verbose = FALSE)
  # The usual 1PL: one common slope, estimated.
  if (model == "1PL") {
    arguments$model <- mirt.model(sprintf("F = 1-%d\nCONSTRAIN = (1-%d, a1)", ncol(y), ncol(y)))
  }
  if (model == "3PL-fixed") arguments$guess <- 0.2
  found <- do.call(mirt, arguments)
  stopifnot(extract.mirt(found, "converged"))
  found
}

one <- function(y, model) {
  found <- fitted_to(y, model)
  table <- coef(found, simplify = TRUE)
  ld <- residuals(found, type = "LD", verbose = FALSE)
  q3 <- residuals(found, type = "Q3", verbose = FALSE)
  out <- c(
    slope = numbers(table$items[, "a1"]), intercept = numbers(table$items[, "d"]),
    guessing = numbers(table$items[, "g"]), variance = number(table$cov[1, 1]),
    ld_x2 = numbers(ld[lower.tri(ld)]), signed_v = numbers(t(ld)[lower.tri(ld)]), q3 = numbers(q3[lower.tri(q3)])
  )
  if (anyNA(y)) return(object(out))
  fit <- M2(found)
  c(object(out, m2 = object(vapply(as.list(fit), number, character(1)))))
}

folder <- file.path("tests", "golden")
simulated <- file.path(folder, "data", "simulated_500.csv")
if (!file.exists(simulated)) make_simulated(simulated)
sets <- vapply(c("lsat7", "simulated_500", "simulated_missing"), function(name) {
  y <- read.csv(file.path(folder, "data", paste0(name, ".csv")), check.names = FALSE)
  object(vapply(models, function(model) one(y, model), character(1)))
}, character(1))
content <- c(mirt = paste0("\"", packageVersion("mirt"), "\""), sets)
writeLines(object(content), file.path(folder, "mirt_local_dependence.json"))
