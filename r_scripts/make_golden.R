# Reference values for tests/golden, by calling the R packages directly:
#   Rscript r_scripts/make_golden.R            (from the root of a checkout)
# Needs mirt, psych, eRm, digest and jsonlite. Data come from tests/golden/data; the simulated sets are made here once
# and kept, so that another R or another generator of random numbers cannot change it.

suppressPackageStartupMessages(library(mirt))

golden <- file.path("tests", "golden")
settings <- list(TOL = 1e-10, NCYCLES = 5000, quadpts = 61, SE.type = "Oakes", fixed_guessing = 0.2)
simulated <- list(seed = 20240501, persons = 1000, items = 15, missing_share = 0.2)
# For marginal likelihood in Python: complete data, and 40 items with and without the same cells. On nodes that twice
# as many (241) change by less than 1e-7 in a parameter and 1e-10 in the log-likelihood.
further <- list(
  simulated_15 = list(seed = 20240501, persons = 1000, items = 15, missing_share = 0),
  simulated_40 = list(seed = 20240502, persons = 1000, items = 40, missing_share = 0),
  simulated_40_missing = list(seed = 20240502, persons = 1000, items = 40, missing_share = 0.2)
)
fine <- list(quadpts = 121, theta_lim = c(-8, 8))

# 17 significant digits read back as the same double; no JSON package of R writes more than 15.
json <- function(x) {
  if (is.list(x)) {
    parts <- vapply(x, json, character(1))
    if (is.null(names(x))) return(paste0("[", paste(parts, collapse = ","), "]"))
    return(paste0("{", paste0(encodeString(names(x), quote = "\""), ":", parts, collapse = ","), "}"))
  }
  text <- if (is.character(x)) encodeString(x, quote = "\"") else sprintf("%.17g", x)
  if (is.numeric(x)) {
    text[is.infinite(x)] <- ifelse(x[is.infinite(x)] > 0, "\"Inf\"", "\"-Inf\"")
    text[is.na(x)] <- "null"
  }
  if (length(x) == 1L) text else paste0("[", paste(text, collapse = ","), "]")
}

write_golden <- function(value, name) writeLines(json(value), file.path(golden, name))

make_simulated <- function(path, drawn) {
  set.seed(drawn$seed)
  n <- drawn$persons
  j <- drawn$items
  theta <- rnorm(n)
  a <- exp(rnorm(j, 0, 0.3))
  b <- rnorm(j, 0, 1)
  p <- settings$fixed_guessing + (1 - settings$fixed_guessing) * plogis(outer(theta, a) - rep(a * b, each = n))
  y <- matrix(as.integer(runif(n * j) < p), n, j)
  y[runif(n * j) < drawn$missing_share] <- NA
  y <- y[rowSums(!is.na(y)) > 0, ]
  colnames(y) <- paste0("item-", seq_len(j))
  write.csv(y, path, row.names = FALSE, na = "", quote = FALSE)
}

read_set <- function(name) {
  read.csv(file.path(golden, "data", paste0(name, ".csv")), check.names = FALSE)
}

fit_golden <- function(y, model, grid) {
  technical <- list(NCYCLES = settings$NCYCLES, theta_lim = grid$theta_lim)
  arguments <- list(data = y, model = 1, TOL = settings$TOL, quadpts = grid$quadpts, SE = TRUE,
                    SE.type = settings$SE.type, technical = technical, verbose = FALSE)
  if (model == "Rasch") arguments$itemtype <- "Rasch"
  if (model == "2PL") arguments$itemtype <- "2PL"
  if (model == "1PL") {
    # The usual 1PL: one common slope, estimated; mirt's own "1PL" is not used.
    arguments$itemtype <- "2PL"
    arguments$model <- mirt.model(sprintf("F = 1-%d\nCONSTRAIN = (1-%d, a1)", ncol(y), ncol(y)))
  }
  if (model == "3PL-fixed") {
    arguments$itemtype <- "2PL"
    arguments$guess <- settings$fixed_guessing
  }
  do.call(mirt, arguments)
}

# Sampling variances and covariance of slope and intercept, and the variance of the latent variance; 0 where fixed.
# vcov's names are "a1.1", "d.2", ... with parameter numbers; a constrained one is "a1.1.5.9".
uncertainty <- function(fitted, items) {
  v <- vcov(fitted)
  parts <- strsplit(rownames(v), ".", fixed = TRUE)
  values <- mod2values(fitted)
  place <- function(item, term) {
    number <- as.character(values$parnum[values$item == item & values$name == term])
    found <- which(vapply(parts, function(p) p[1] == term && number %in% p[-1], logical(1)))
    if (length(found) == 1L) found else NA_integer_
  }
  at <- function(i, k) if (is.na(i) || is.na(k)) 0 else v[i, k]
  slope <- vapply(items, place, integer(1), term = "a1")
  intercept <- vapply(items, place, integer(1), term = "d")
  variance <- place("GROUP", "COV_11")
  list(
    slope_se = sqrt(unname(mapply(at, slope, slope))), intercept_se = sqrt(unname(mapply(at, intercept, intercept))),
    slope_intercept_covariance = unname(mapply(at, slope, intercept)), variance_se = sqrt(at(variance, variance))
  )
}

describe <- function(y, model, grid = list(quadpts = settings$quadpts, theta_lim = c(-6, 6)),
                     methods = c("EAP", "MAP", "ML", "WLE"), persons = 60) {
  fitted <- fit_golden(y, model, grid)
  stopifnot(extract.mirt(fitted, "converged"))
  items <- colnames(y)
  table <- coef(fitted, simplify = TRUE)
  # Persons whose response pattern occurs for the first time.
  rows <- head(which(!duplicated(y)), persons)
  names(methods) <- methods
  scores <- lapply(methods, function(method) {
    s <- fscores(fitted, method = method, full.scores = TRUE, full.scores.SE = TRUE, verbose = FALSE)
    list(estimate = unname(s[rows, 1]), standard_error = unname(s[rows, 2]))
  })
  c(
    list(
      items = items, persons = nrow(y), log_likelihood = extract.mirt(fitted, "logLik"),
      iterations = extract.mirt(fitted, "iterations"), slope = unname(table$items[, "a1"]),
      intercept = unname(table$items[, "d"]), guessing = unname(table$items[, "g"]),
      variance = unname(table$cov[1, 1])
    ),
    uncertainty(fitted, items),
    list(scored_rows = rows - 1L, scores = scores)
  )
}

classical <- function(y) {
  found <- suppressWarnings(suppressMessages(psych::alpha(y, check.keys = FALSE, warnings = FALSE)))
  list(
    items = colnames(y), alpha = found$total$raw_alpha, alpha_if_dropped = found$alpha.drop$raw_alpha,
    item_rest_correlation = unname(found$item.stats[, "r.drop"]), proportion_correct = unname(colMeans(y))
  )
}

# eRm minimises by nlm, which takes gradient and curvature by differences and stops at its default tolerance.
conditional <- function(y) {
  fitted <- eRm::RM(as.matrix(y), sum0 = TRUE)
  stopifnot(fitted$convergence == 1)
  out <- list(
    items = colnames(y), difficulty = -unname(fitted$betapar), standard_error = unname(fitted$se.beta),
    log_likelihood = fitted$loglik, parameters = fitted$npar
  )
  # Groups by raw score: eRm's rule for missing cells is its own.
  if (anyNA(y)) return(out)
  test <- eRm::LRtest(fitted, splitcr = "mean")
  c(out, list(andersen = list(statistic = unname(test$LR), df = unname(test$df), p_value = unname(test$pvalue))))
}

prepare_data <- function(name) {
  path <- file.path(golden, "data", paste0(name, ".csv"))
  if (file.exists(path)) return(invisible())
  if (name == "simulated_missing") return(make_simulated(path, simulated))
  if (name %in% names(further)) return(make_simulated(path, further[[name]]))
  y <- expand.table(get(toupper(name)))
  colnames(y) <- paste0("item-", seq_len(ncol(y)))
  write.csv(y, path, row.names = FALSE, quote = FALSE)
}

sha256 <- function(path) digest::digest(file = path, algo = "sha256")

# What other scripts entered stays, also within `packages`, `sha256` and `references`.
write_manifest <- function(made) {
  path <- file.path(golden, "manifest.json")
  known <- if (file.exists(path)) jsonlite::read_json(path) else list()
  for (name in intersect(c("packages", "sha256", "references"), names(known))) {
    made[[name]] <- c(made[[name]], known[[name]][setdiff(names(known[[name]]), names(made[[name]]))])
  }
  write_golden(c(made, known[setdiff(names(known), names(made))]), "manifest.json")
}

main <- function() {
  sets <- c("lsat6", "lsat7", "simulated_missing")
  models <- c(rasch = "Rasch", one_pl = "1PL", two_pl = "2PL", three_pl_fixed = "3PL-fixed")
  dir.create(file.path(golden, "data"), recursive = TRUE, showWarnings = FALSE)
  for (name in sets) {
    prepare_data(name)
    y <- read_set(name)
    write_golden(lapply(models, function(model) describe(y, model)), paste0("mirt_", name, ".json"))
    # psych's rule for missing cells (pairwise) is its own: complete data only.
    if (!anyNA(y)) write_golden(classical(y), paste0("psych_", name, ".json"))
    write_golden(conditional(y), paste0("erm_", name, ".json"))
  }
  for (name in names(further)) {
    prepare_data(name)
    y <- read_set(name)
    write_golden(lapply(models, function(m) describe(y, m, fine, "EAP", 20)), paste0("mirt_", name, ".json"))
  }
  packages <- c("mirt", "psych", "eRm")
  names(packages) <- packages
  files <- file.path("data", paste0(c(sets, names(further)), ".csv"))
  names(files) <- files
  write_manifest(list(
    R = paste(R.version$major, R.version$minor, sep = "."),
    packages = lapply(packages, function(p) as.character(packageVersion(p))),
    settings = settings, simulated = simulated, further = further, fine = fine,
    generator = list(path = "r_scripts/make_golden.R", sha256 = sha256("r_scripts/make_golden.R")),
    sha256 = lapply(files, function(f) sha256(file.path(golden, f))),
    references = as.list(vapply(
      c(paste0(rep(c("mirt_", "erm_"), each = length(sets)), sets, ".json"), "psych_lsat6.json", "psych_lsat7.json",
        paste0("mirt_", names(further), ".json")),
      function(f) sha256(file.path(golden, f)), character(1)
    ))
  ))
}

main()
