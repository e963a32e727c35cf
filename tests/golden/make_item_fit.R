# Item and person fit by R's mirt, for tests/parity/test_item_fit_mirt.py and test_person_fit_mirt.py.
# Run in the checkout: Rscript --vanilla tests/golden/make_item_fit.R
# It writes tests/golden/mirt_item_fit.json, from data that other scripts made. Then bring tests/golden/manifest.json up
# to date.
#
# mirt refuses S-X2 with missing cells. Persons: the first 150 different rows, numbered from 0. `floored` counts cells
# whose variance is below the sqrt(1e-5) that mirt puts in its place.

suppressPackageStartupMessages(library(mirt))

number <- function(x) ifelse(is.finite(x), formatC(as.numeric(x), digits = 17, format = "g", width = 1), "null")
numbers <- function(x) paste0("[", paste(number(x), collapse = ", "), "]")
object <- function(...) {
  parts <- c(...)
  paste0("{", paste0("\"", names(parts), "\": ", parts, collapse = ", "), "}")
}
columns <- function(x) object(sapply(x, numbers))

models <- c(rasch = "Rasch", two_pl = "2PL", three_pl_fixed = "3PL-fixed")

fitted_to <- function(y, model) {
  found <- mirt(y, 1, itemtype = if (model == "Rasch") "Rasch" else "2PL", guess = if (model == "3PL-fixed") 0.2 else 0,
                TOL = 1e-10, quadpts = 61, technical = list(NCYCLES = 5000), verbose = FALSE)
  stopifnot(extract.mirt(found, "converged"))
  found
}

items_of <- function(found) {
  pars <- coef(found, simplify = TRUE)
  c(slope = numbers(pars$items[, "a1"]), intercept = numbers(pars$items[, "d"]), guessing = numbers(pars$items[, "g"]),
    variance = number(pars$cov[1, 1]))
}

floored <- function(found, theta) {
  p <- sapply(seq_len(extract.mirt(found, "nitems")), function(i) probtrace(extract.item(found, i), theta)[, 2])
  sum((p * (1 - p) < sqrt(1e-5))[!is.na(extract.mirt(found, "data"))])
}

one <- function(y, model) {
  found <- fitted_to(y, model)
  complete <- !anyNA(y)
  fit <- itemfit(found, fit_stats = if (complete) c("S_X2", "infit") else "infit")
  rows <- head(which(!duplicated(y)), 150)
  persons <- personfit(found)[rows, ]
  theta <- fscores(found, method = "EAP")
  names(fit) <- gsub(".S_X2", "_s_x2", names(fit), fixed = TRUE)
  object(items_of(found), items = columns(fit[, -1]), rows = numbers(rows - 1), persons = columns(persons),
         floored = number(floored(found, theta)))
}

set <- function(name) {
  y <- read.csv(file.path("tests", "golden", "data", paste0(name, ".csv")), check.names = FALSE)
  object(sapply(models, function(model) one(y, model)))
}

content <- sapply(c("lsat7", "simulated_500", "simulated_missing"), function(name) paste0(" \"", name, "\": ", set(name)))
version <- paste0(" \"mirt\": \"", packageVersion("mirt"), "\"")
writeLines(c("{", paste(c(version, content), collapse = ",\n"), "}"), file.path("tests", "golden", "mirt_item_fit.json"))
