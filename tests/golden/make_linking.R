# Linking constants and their covariance by R's equateIRT::direc, for tests/parity/test_linking_equateirt.py.
# Run in the checkout: Rscript --vanilla tests/golden/make_linking.R
# It writes tests/golden/equateirt_linking.json, with the items it links. Then bring tests/golden/manifest.json up to date.
#
# direc(which = c(1, 2)) takes form 1 to the scale of form 2, at 30 Gauss-Hermite nodes of N(0, 1), or (grid) at 40 equal
# nodes from -4 to 4 with weights 1. `differences` is the covariance of mean-sigma from differences of direc's own A and
# B: its derivatives of a SD with n - 1 divide by n, so that its covariance is not that of its constants.

number <- function(x) formatC(x, digits = 17, format = "g")
numbers <- function(x) paste0("[", paste(number(x), collapse = ", "), "]")
rows <- function(x) paste0("[", paste(apply(x, 1, numbers), collapse = ", "), "]")
texts <- function(x) paste0("[", paste0("\"", x, "\"", collapse = ", "), "]")
object <- function(...) {
  parts <- c(...)
  paste0("{", paste0("\"", names(parts), "\": ", parts, collapse = ", "), "}")
}

terms <- list(rasch = "d", two_pl = c("d", "a"), three_pl = c("c", "d", "a"))
set.seed(20240701)
items <- paste0("q", sprintf("%02d", 1:16))
forms <- list(first = items[1:11], second = rev(items[4:16]))
truth <- data.frame(a = exp(rnorm(16, 0, 0.3)), d = rnorm(16, 0, 1), c = runif(16, 0.05, 0.3), row.names = items)

# Estimates of a form on its own scale, and their covariance diag(s^2) + l l' with terms one after another.
estimates <- function(form, model, scale, shift) {
  x <- truth[forms[[form]], ]
  if (model == "rasch") x$a <- scale <- 1
  x$d <- x$d - shift / scale * x$a
  x$a <- x$a / scale
  x <- as.matrix(x[, terms[[model]], drop = FALSE])
  s <- rep(c(c = 0.02, d = 0.08, a = 0.09)[colnames(x)], each = nrow(x)) * runif(length(x), 0.7, 1.4)
  l <- matrix(rnorm(2 * length(x)) * s / 2, ncol = 2)
  list(coef = x + rnorm(length(x), 0, s), s = s, l = l, var = diag(s^2) + l %*% t(l))
}

direc <- function(both, method, coef = lapply(both, `[[`, "coef"), ...) {
  mods <- equateIRT::modIRT(
    coef = coef, var = lapply(both, `[[`, "var"), names = c("T1", "T2"), ltparam = TRUE, lparam = FALSE, display = FALSE
  )
  equateIRT::direc(mods = mods, which = c(1, 2), method = method, ...)
}

differences <- function(both) {
  jacobian <- lapply(1:2, function(k) sapply(seq_along(both[[k]]$coef), function(i) {
    sapply(c(1, -1), function(side) {
      coef <- lapply(both, `[[`, "coef")
      coef[[k]][i] <- coef[[k]][i] + side * 1e-5
      found <- direc(both, "mean-sigma", coef)
      c(found$A, found$B)
    }) %*% c(1, -1) / 2e-5
  }))
  Reduce(`+`, lapply(1:2, function(k) jacobian[[k]] %*% both[[k]]$var %*% t(jacobian[[k]])))
}

constants <- function(found) {
  c(scale = number(found$A), shift = number(found$B), covariance = rows(found$varAB))
}

one <- function(model) {
  both <- list(first = estimates("first", model, 1, 0), second = estimates("second", model, 1.25, -0.4))
  given <- lapply(both, function(x) object(
    items = texts(rownames(x$coef)), terms = texts(colnames(x$coef)), values = rows(t(x$coef)), s = numbers(x$s),
    l = rows(x$l)
  ))
  methods <- c("mean-mean", "mean-sigma", "Haebara", "Stocking-Lord")
  found <- sapply(methods, function(m) object(constants(direc(both, m))))
  grid <- sapply(methods[3:4], function(m) object(constants(direc(both, m, quadrature = FALSE))))
  object(given, constants = object(found), grid = object(grid), differences = rows(differences(both)))
}

content <- c(
  paste0(" \"equateIRT\": \"", packageVersion("equateIRT"), "\""),
  sapply(names(terms), function(model) paste0(" \"", model, "\": ", one(model)))
)
writeLines(c("{", paste(content, collapse = ",\n"), "}"), file.path("tests", "golden", "equateirt_linking.json"))
