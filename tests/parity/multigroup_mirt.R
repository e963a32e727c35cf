# mirt's multiple group model: items equal over groups, means and variances free. Where items are fixed, those of all
# groups are, else all but the first group's (whose variance is free in a Rasch model). One group alone goes to mirt().
mirt_groups <- function(job) {
  x <- job$x
  x[is.na(x)] <- NA_real_
  x <- matrix(x, job$n_persons, job$n_items, dimnames = list(NULL, paste0("i", seq_len(job$n_items))))
  group <- factor(job$group, levels = unique(job$group))
  fixed <- which(job$fixed == 1)
  several <- nlevels(group) > 1
  call <- function(pars) {
    shared <- list(
      data = x, model = 1, itemtype = job$itemtype, pars = pars, TOL = job$tolerance, quadpts = 161, verbose = FALSE,
      technical = list(NCYCLES = 10000, theta_lim = c(-10, 10))
    )
    if (!is.null(job$guess)) shared$guess <- job$guess
    if (!identical(pars, "values")) shared <- c(shared, list(SE = TRUE, SE.type = "Oakes"))
    if (!several) return(do.call(mirt::mirt, shared))
    invariance <- c(setdiff(colnames(x), colnames(x)[fixed]), "free_means", "free_var")
    do.call(mirt::multipleGroup, c(shared, list(group = group, invariance = invariance)))
  }
  start <- call("values")
  if (length(fixed)) {
    at <- start$item %in% colnames(x)[fixed]
    number <- match(start$item, colnames(x))
    for (name in c("a1", "d")) {
      rows <- at & start$name == name
      start$value[rows] <- job[[name]][number[rows]]
    }
    start$est[at] <- FALSE
    start$est[start$name %in% c("MEAN_1", "COV_11")] <- TRUE
  }
  fit <- call(start)
  values <- mirt::mod2values(fit)
  of_first <- if (several) values$group == levels(group)[1] else rep(TRUE, nrow(values))
  errors <- function(name, rows) {
    v <- diag(fit@vcov)
    numbers <- lapply(strsplit(sub("^[^.]*[.]", "", names(v)), ".", fixed = TRUE), as.integer)
    kinds <- sub("[.].*$", "", names(v))
    at <- vapply(values$parnum[rows], function(p) {
      found <- which(kinds == name & vapply(numbers, function(n) p %in% n, TRUE))
      if (length(found)) found[1] else NA_integer_
    }, 1L)
    sqrt(as.double(v)[at])
  }
  pick <- function(name, first) {
    rows <- values$name == name & (!first | of_first)
    e <- errors(name, rows)
    e[is.na(e)] <- 0
    list(as.double(values$value[rows]), e)
  }
  out <- list()
  for (name in c("a1", "d")) out[c(name, paste0(name, "_se"))] <- pick(name, TRUE)
  for (name in c("MEAN_1", "COV_11")) out[c(name, paste0(name, "_se"))] <- pick(name, FALSE)
  c(out, list(log_likelihood = as.double(fit@Fit$logLik), converged = fit@OptimInfo$converged,
    n_parameters = as.double(mirt::extract.mirt(fit, "nest"))))
}
