# catR's estimates, errors and information on known items; and its own estimating equations at the abilities given.
catr_scores <- function(job) {
  it <- cbind(job$a, job$b, job$c, 1)
  x <- matrix(as.integer(job$x), nrow = job$persons, byrow = TRUE)
  x[x < 0] <- NA
  reply <- list()
  range <- c(-job$limit, job$limit)
  nodes <- c(-10, 10, 321)
  for (method in c("ML", "BM", "WL", "EAP")) {
    prior <- c(job$mean, job$sd)
    theta <- se <- residual <- numeric(nrow(x))
    ours <- job[[tolower(method)]]
    for (i in seq_len(nrow(x))) {
      theta[i] <- catR::thetaEst(it, x[i, ], method = method, priorPar = prior, range = range, parInt = nodes)
      seen <- !is.na(x[i, ])
      at <- if (is.finite(ours[i])) ours[i] else theta[i]
      se[i] <- catR::semTheta(at, it, x[i, ], method = method, priorPar = prior, parInt = nodes)
      p <- catR::Pi(at, it[seen, , drop = FALSE])
      info <- catR::Ii(at, it[seen, , drop = FALSE])$Ii
      bias <- catR::Ji(at, it[seen, , drop = FALSE])$Ji
      more <- switch(method, BM = (prior[1] - at) / prior[2]^2, WL = sum(bias) / (2 * sum(info)), 0)
      # In units of the ability.
      residual[i] <- (sum(p$dPi * (x[i, seen] - p$Pi) / (p$Pi * (1 - p$Pi))) + more) / (sum(info) + 1 / prior[2]^2)
    }
    reply[[paste0(tolower(method), "_theta")]] <- theta
    reply[[paste0(tolower(method), "_se")]] <- se
    reply[[paste0(tolower(method), "_residual")]] <- residual
  }
  reply$information <- vapply(job$grid, function(t) sum(catR::Ii(t, it)$Ii), 0)
  reply
}
