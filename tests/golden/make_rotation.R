# Rotated loadings by R's stats::varimax and GPArotation::oblimin (gamma 0), for tests/parity/test_rotation_r.py.
# Run in the checkout: Rscript --vanilla tests/golden/make_rotation.R
# It writes tests/golden/rotation.json, with the loadings it rotates. Then bring tests/golden/manifest.json up to date.

number <- function(x) formatC(x, digits = 17, format = "g")
rows <- function(x) {
  text <- apply(x, 1, function(r) paste0("[", paste(number(r), collapse = ", "), "]"))
  paste0("[", paste(text, collapse = ", "), "]")
}

set.seed(20240601)
simple <- matrix(0, 24, 3)
simple[cbind(1:24, rep(1:3, 8))] <- runif(24, 0.5, 0.9)
correlated <- chol(matrix(c(1, 0.5, 0.3, 0.5, 1, 0.4, 0.3, 0.4, 1), 3))
turned <- simple %*% t(correlated) %*% qr.Q(qr(matrix(rnorm(9), 3)))
unrotated <- turned + matrix(rnorm(72, 0, 0.05), 24)

v <- stats::varimax(unrotated, normalize = TRUE, eps = 1e-14)
q <- lapply(c(plain = FALSE, kaiser = TRUE), function(normalize) {
  found <- GPArotation::oblimin(unrotated, gam = 0, normalize = normalize, eps = 1e-7, maxit = 10000)
  stopifnot(found$convergence)
  paste0("{\"loadings\": ", rows(unclass(found$loadings)), ", \"correlation\": ", rows(found$Phi), "}")
})
content <- c(
  paste0(" \"GPArotation\": \"", packageVersion("GPArotation"), "\""),
  paste0(" \"unrotated\": ", rows(unrotated)),
  paste0(" \"varimax\": ", rows(unclass(v$loadings))),
  paste0(" \"oblimin\": ", q$plain),
  paste0(" \"oblimin_kaiser\": ", q$kaiser)
)
writeLines(c("{", paste(content, collapse = ",\n"), "}"), file.path("tests", "golden", "rotation.json"))
