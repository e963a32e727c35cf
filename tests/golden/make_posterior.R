# Diagnostics of draws by R's posterior, and leave-one-out by R's loo, for tests/parity/test_sampling_posterior.py.
# Run in the checkout: Rscript --vanilla tests/golden/make_posterior.R
# It reads tests/golden/data/draws.csv (4 chains x 100 draws, made up: what a chain can look like) and writes
# tests/golden/posterior_draws.json. Then bring tests/golden/manifest.json up to date.

library(posterior)
library(loo)

folder <- file.path("tests", "golden")
given <- read.csv(file.path(folder, "data", "draws.csv"))
chains <- length(unique(given$chain))
matrix_of <- function(name) matrix(given[[name]], ncol = chains)  # draws x chains

parameters <- setdiff(names(given), c("chain", "draw"))
figures <- lapply(setNames(parameters, parameters), function(name) {
  x <- matrix_of(name)
  list(
    rhat = rhat(x), ess_bulk = ess_bulk(x), ess_tail = ess_tail(x), mcse_mean = mcse_mean(x),
    rhat_one_chain = rhat(x[, 1, drop = FALSE])
  )
})

persons <- grep("^log_lik", parameters, value = TRUE)
log_lik <- sapply(persons, matrix_of, simplify = "array")  # draws x chains x persons
relative <- mean(apply(log_lik, 3, function(x) ess_mean(exp(x - max(x))) / length(x)))
fitted <- suppressWarnings(loo(log_lik, r_eff = rep(min(1, relative), length(persons))))

number <- function(x) ifelse(is.finite(x), formatC(x, digits = 17, format = "g"), ifelse(is.na(x), "null", "\"Inf\""))
numbers <- function(x) paste0("[", paste(number(x), collapse = ", "), "]")
keys <- function(x, indent) {
  paste0(indent, "\"", names(x), "\": ", unlist(x), collapse = ",\n")
}
block <- function(x, indent) paste0("{\n", keys(x, paste0(indent, "  ")), "\n", indent, "}")
content <- list(
  posterior = paste0("\"", packageVersion("posterior"), "\""),
  loo = paste0("\"", packageVersion("loo"), "\""),
  figures = block(lapply(figures, function(f) block(lapply(f, number), "    ")), "  "),
  leave_one_out = block(list(
    relative_ess = number(relative),
    elpd = numbers(fitted$pointwise[, "elpd_loo"]),
    p_loo = numbers(fitted$pointwise[, "p_loo"]),
    pareto_k = numbers(fitted$diagnostics$pareto_k),
    total = numbers(c(fitted$estimates["elpd_loo", ]))
  ), "  ")
)
writeLines(block(content, ""), file.path(folder, "posterior_draws.json"))
