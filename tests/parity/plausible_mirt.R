# mirt's plausible values, test information and marginal reliability on a 2PL that it fits; its items with them.
mirt_plausible <- function(job) {
  x <- matrix(as.integer(job$x), nrow = job$persons, byrow = TRUE)
  x[x < 0] <- NA
  colnames(x) <- job$items
  fit <- mirt::mirt(x, 1, "2PL", verbose = FALSE, TOL = 1e-6, technical = list(NCYCLES = 2000))
  p <- mirt::coef(fit, simplify = TRUE)$items
  set.seed(job$seed)
  reply <- list(a = as.double(p[, 1]), d = as.double(p[, 2]))
  for (type in c("normal", "MH")) {
    sets <- mirt::fscores(fit, plausible.draws = job$draws, plausible.type = type, method = "EAP",
                          full.scores.SE = FALSE, quadpts = 121)
    reply[[tolower(type)]] <- as.double(do.call(cbind, lapply(sets, as.double)))
  }
  reply$information <- as.double(mirt::testinfo(fit, matrix(job$grid)))
  reply$reliability <- as.double(mirt::marginal_rxx(fit))
  reply
}
