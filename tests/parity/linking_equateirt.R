# Forms 1 and 2 of equateIRT's example data, and the constants that its direc finds for them.
equateirt_link <- function(job) {
  name <- c(rasch = "estrasch", two_pl = "est2pl", three_pl = "est3pl")[[job$model]]
  data(list = name, package = "equateIRT", envir = environment())
  est <- get(name)
  # The lower asymptotes come as logits.
  is_3pl <- job$model == "three_pl"
  coef <- est$coef[1:2]
  var <- est$var[1:2]
  keep <- colSums(coef[[1]] == 1) != nrow(coef[[1]])
  coef <- lapply(coef, function(x) x[, keep, drop = FALSE])
  mods <- equateIRT::modIRT(coef = coef, var = var, names = c("T1", "T2"), lparam = is_3pl, display = FALSE)
  reply <- list()
  for (k in 1:2) {
    x <- coef[[k]]
    jacobian <- rep(1, length(x))
    if (is_3pl) {
      x[, 1] <- plogis(x[, 1])
      jacobian[seq_len(nrow(x))] <- x[, 1] * (1 - x[, 1])
    }
    reply[[paste0("items", k)]] <- rownames(x)
    reply[[paste0("values", k)]] <- as.double(x)
    reply[[paste0("covariance", k)]] <- as.double(t(jacobian * t(jacobian * var[[k]])))
  }
  for (method in c("mean-mean", "mean-sigma", "Haebara", "Stocking-Lord")) {
    found <- equateIRT::direc(mods = mods, which = c(1, 2), method = method)
    reply[[gsub("-", "_", tolower(method))]] <- as.double(c(found$A, found$B, found$varAB))
  }
  reply
}
