# One minres factor by R's psych, and omega from it, for tests/parity/test_omega_psych.py.
# Run in the checkout: Rscript --vanilla tests/golden/make_psych_omega.R
# It reads tests/golden/data/<name>.csv and writes tests/golden/psych_omega.json. Then bring tests/golden/manifest.json
# up to date.

folder <- file.path("tests", "golden")
number <- function(x) formatC(x, digits = 17, format = "g")
numbers <- function(x) paste0("[", paste(number(x), collapse = ", "), "]")

one <- function(name) {
  y <- as.matrix(read.csv(file.path(folder, "data", paste0(name, ".csv"))))
  stopifnot(!anyNA(y), all(y %in% 0:1))
  found <- suppressMessages(suppressWarnings(psych::fa(cor(y), nfactors = 1, n.obs = nrow(y), fm = "minres")))
  l <- as.numeric(found$loadings[, 1])
  s <- apply(y, 2, sd)
  common <- sum(s * l)^2
  omega <- common / (common + sum(s^2 * (1 - l^2)))
  paste0(" \"", name, "\": {\"loadings\": ", numbers(l), ", \"omega\": ", number(omega), "}")
}

content <- c(paste0(" \"psych\": \"", packageVersion("psych"), "\""), vapply(c("lsat7", "simulated_15"), one, ""))
writeLines(c("{", paste(content, collapse = ",\n"), "}"), file.path(folder, "psych_omega.json"))
