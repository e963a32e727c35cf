# run_mirt_job(job): one mirt fit. A plain list in, a plain list out: doubles, strings, logicals and lists of them.
# Both bridges call this function and nothing else of R.

# Values of mirt's slopes before the first cycle (mirt 1.48, one dimension).
.start_slope <- 0.851

run_mirt_job <- function(job) {
  warned <- character()
  said <- character()
  # mirt draws from, and then reseeds, the session's generator.
  seed <- get0(".Random.seed", envir = globalenv(), inherits = FALSE)
  console <- textConnection(NULL, "w")
  sink(console)
  on.exit({
    sink()
    close(console)
    if (!is.null(seed)) {
      assign(".Random.seed", seed, envir = globalenv())
    } else if (exists(".Random.seed", envir = globalenv(), inherits = FALSE)) {
      rm(".Random.seed", envir = globalenv())
    }
  })
  reply <- tryCatch(
    withCallingHandlers(
      .fit_mirt(job),
      warning = function(w) {
        # Of an information matrix that is still to be corrected it says nothing.
        early <- isTRUE(job$information) && startsWith(conditionMessage(w), "Could not invert information matrix")
        if (early) said <<- c(said, conditionMessage(w)) else warned <<- c(warned, conditionMessage(w))
        invokeRestart("muffleWarning")
      },
      message = function(m) {
        said <<- c(said, conditionMessage(m))
        invokeRestart("muffleMessage")
      }
    ),
    error = function(e) list(error = conditionMessage(e)),
    interrupt = function(e) list(error = "interrupted", interrupted = TRUE)
  )
  c(reply, list(
    warnings = .plain_text(warned),
    messages = .plain_text(said),
    console = .plain_text(textConnectionValue(console))
  ))
}

# NULL where there is nothing: an empty vector has no type on the other side.
.plain_text <- function(x) if (length(x)) enc2utf8(as.character(trimws(x)))

.fit_mirt <- function(job) {
  loadNamespace("mirt")  # here, so that fit_seconds does not hold it
  # A private environment: mirt keeps its call, and by name that is a line and not the data.
  e <- new.env(parent = globalenv())
  e$X <- .data_matrix(job)
  e$model <- if (is.null(job$syntax)) 1 else mirt::mirt.model(job$syntax, quiet = TRUE)
  options <- .mirt_options(job)
  list2env(options, e)
  call <- as.call(c(
    list(quote(mirt::mirt), data = quote(X), model = quote(model)),
    sapply(names(options), as.name, simplify = FALSE)
  ))
  if (!is.null(job$variance_prior)) {
    e$start <- .variance_prior(call, e, job$variance_prior)
    call$pars <- quote(start)
  }
  began <- proc.time()[["elapsed"]]
  e$fit <- eval(call, e)
  fitted <- proc.time()[["elapsed"]]
  reply <- c(.parameters(e$fit), .start_values(call, e))
  between <- proc.time()[["elapsed"]]
  scores <- .scores(e, job)
  c(reply, scores, list(
    call_characters = as.double(sum(nchar(deparse(e$fit@Call)))),
    call = paste(trimws(deparse(e$fit@Call)), collapse = " "),
    fit_seconds = fitted - began,
    scoring_seconds = proc.time()[["elapsed"]] - between,
    r_version = paste(R.version$major, R.version$minor, sep = "."),
    mirt_version = as.character(utils::packageVersion("mirt"))
  ))
}

.data_matrix <- function(job) {
  x <- job$x
  if (length(x) != job$n_persons * job$n_items) {
    stop("the data arrived with ", length(x), " cells instead of ", job$n_persons * job$n_items, call. = FALSE)
  }
  # Python has one not-a-number for both of R's.
  x[is.na(x)] <- NA_real_
  if (sum(is.na(x)) != job$n_missing) {
    stop("the data arrived with ", sum(is.na(x)), " missing cells instead of ", job$n_missing, call. = FALSE)
  }
  if (any(x != 0 & x != 1, na.rm = TRUE)) {
    stop("the data arrived with cells that are neither 0, 1 nor missing", call. = FALSE)
  }
  matrix(x, job$n_persons, job$n_items, dimnames = list(NULL, paste0("i", seq_len(job$n_items))))
}

.mirt_options <- function(job) {
  technical <- c(
    list(NCYCLES = job$max_iterations, theta_lim = c(-1, 1) * job$quadrature_limit),
    if (!is.null(job$seed)) list(set.seed = job$seed),
    if (isTRUE(job$information)) list(infoAsVcov = TRUE),
    if (isTRUE(job$expanded)) list(customK = rep(2, job$n_items)),
    job$technical
  )
  errors <- !is.null(job$se_type)
  c(
    list(itemtype = job$itemtype, method = job$method, SE = errors),
    if (errors) list(SE.type = job$se_type),
    if (!is.null(job$guess)) list(guess = job$guess),
    list(quadpts = job$quadrature_points, TOL = job$tolerance, verbose = FALSE, technical = technical),
    job$arguments
  )
}

# mirt.model's PRIOR cannot name the latent variance; the table of start values can.
.variance_prior <- function(call, e, prior) {
  call$pars <- "values"
  start <- eval(call, e)
  row <- start$name == "COV_11"
  start$prior.type <- as.character(start$prior.type)
  start$prior.type[row] <- "lnorm"
  start$prior_1[row] <- prior[1]
  start$prior_2[row] <- prior[2]
  start
}

.number <- function(x) if (length(x)) as.double(x[1]) else NA_real_

.parameters <- function(fit) {
  values <- mirt::mod2values(fit)
  covariance <- fit@vcov
  known <- is.matrix(covariance) && !is.null(rownames(covariance))
  list(
    a = values$value[values$name == "a1"],
    d = values$value[values$name == "d"],
    g = values$value[values$name == "g"],
    variance = values$value[values$name == "COV_11"],
    covariance = if (known) as.double(covariance),
    covariance_names = if (known) rownames(covariance),
    log_likelihood = .number(fit@Fit$logLik),
    log_likelihood_error = .number(fit@Fit$SElogLik),
    log_prior = .number(fit@Fit$logPrior),
    converged = isTRUE(fit@OptimInfo$converged),
    iterations = .number(fit@OptimInfo$iter),
    condition_number = .number(fit@OptimInfo$condnum),
    second_order_test = isTRUE(fit@OptimInfo$secondordertest)
  )
}

# Start values cost a second preparation of the data: only where something did not move, or may not have.
.start_values <- function(call, e) {
  values <- mirt::mod2values(e$fit)
  moved <- is.finite(e$fit@Fit$logLik) && e$fit@OptimInfo$iter > 2 &&
    !any(values$value[values$name == "a1"] == .start_slope)
  if (moved) return(NULL)
  call$pars <- "values"
  start <- eval(call, e)
  list(
    start_a = start$value[start$name == "a1"],
    start_d = start$value[start$name == "d"],
    start_variance = start$value[start$name == "COV_11"]
  )
}

.scores <- function(e, job) {
  limits <- c(-1, 1) * job$quadrature_limit
  found <- tryCatch(
    mirt::fscores(
      e$fit, method = job$ability_method, full.scores = TRUE, full.scores.SE = TRUE,
      quadpts = job$quadrature_points, theta_lim = limits, verbose = FALSE
    ),
    error = function(err) conditionMessage(err)
  )
  if (is.character(found)) return(list(scoring_error = found))
  list(ability = as.double(found[, 1]), ability_error = as.double(found[, 2]))
}
