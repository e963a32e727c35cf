# run_brms_job(job): one posterior by brms. A plain list in, a plain list out: doubles, strings, logicals and lists of
# them. brms writes the program and names the draws; building it and running its chains is done here as brm() does it,
# so that a built program can be kept and a chain that fails leaves the others.

run_brms_job <- function(job) {
  heard <- new.env()
  heard$warnings <- heard$messages <- character()
  stage <- "loading brms"
  at <- function(what) {
    stage <<- what
    cat("psychoeval: ", what, "\n", sep = "")
  }
  reply <- tryCatch(
    withCallingHandlers(
      .fit_brms(job, at),
      warning = function(w) {
        heard$warnings <- c(heard$warnings, conditionMessage(w))
        invokeRestart("muffleWarning")
      },
      message = function(m) {
        heard$messages <- c(heard$messages, conditionMessage(m))
        invokeRestart("muffleMessage")
      }
    ),
    error = function(e) list(error = conditionMessage(e), stage = stage)
  )
  c(reply, list(warnings = .plain_text(heard$warnings), messages = .plain_text(heard$messages)))
}

# NULL where there is nothing: an empty vector has no type on the other side.
.plain_text <- function(x) if (length(x)) enc2utf8(as.character(trimws(x)))

.fit_brms <- function(job, at) {
  at("loading brms")
  loadNamespace("brms")
  if (file.exists("/usr/include/boost/version.hpp") && !nzchar(system.file("include", "boost", package = "BH"))) {
    rstan::rstan_options(boost_lib = "/usr/include")  # Debian's BH is empty: its Boost is the system's
  }
  at("writing the Stan program")
  x <- brms::brm(
    .formula(job), .data(job), family = .family(job), prior = .priors(job$priors), empty = TRUE
  )
  code <- enc2utf8(as.character(brms::stancode(x)))
  built <- .build(code, job, at)
  at("sampling")
  run <- .sample(x, code, built$model, job)
  if (!length(run$fits)) return(list(failed = run$failed, stan_code = code))
  at("reading the draws")
  x$fit <- if (length(run$fits) > 1) rstan::sflist2stanfit(run$fits) else run$fits[[1]]
  x <- brms::rename_pars(x)
  seconds <- do.call(rbind, lapply(run$fits, rstan::get_elapsed_time))
  list(
    draws = .draws(x, names(job$parts)),
    statistics = .statistics(run$fits),
    chain_numbers = as.double(run$chains),
    failed = if (length(run$failed)) run$failed,
    warmup_seconds = as.double(seconds[, 1]),
    sampling_seconds = as.double(seconds[, 2]),
    build_seconds = built$seconds,
    from_cache = built$from_cache,
    cache_problem = built$problem,
    stan_code = code,
    versions = list(
      R = paste(R.version$major, R.version$minor, sep = "."),
      brms = .version("brms"), rstan = .version("rstan"), StanHeaders = .version("StanHeaders")
    )
  )
}

.version <- function(package) as.character(utils::packageVersion(package))

# What names a formula and a density is given as text, made by psychoeval alone: no id of an item or a person is in it.
.formula <- function(job) {
  parts <- Map(function(name, text) stats::as.formula(paste(name, "~", text)), names(job$parts), job$parts)
  do.call(brms::bf, c(list(stats::as.formula(job$formula)), unname(parts), list(nl = TRUE)))
}

.family <- function(job) {
  if (job$trials) stats::binomial(link = job$link) else brms::bernoulli(link = job$link)
}

.priors <- function(p) {
  rows <- lapply(seq_along(p$prior), function(i) {
    bound <- function(value) if (nzchar(value)) value else NA
    brms::set_prior(
      p$prior[i], class = p$class[i], coef = p$coef[i], group = p$group[i], nlpar = p$nlpar[i],
      lb = bound(p$lb[i]), ub = bound(p$ub[i])
    )
  })
  do.call(c, rows)
}

.data <- function(job) {
  cells <- lengths(job[c("y", "n", "person", "item")])
  if (any(cells != job$n_cells)) stop("the data arrived with ", min(cells), " cells instead of ", job$n_cells)
  if (anyNA(job$y) || any(job$y < 0 | job$y > job$n | job$n < 1)) stop("the data arrived damaged")
  data.frame(
    y = as.integer(job$y), n = as.integer(job$n),
    person = factor(job$person, levels = seq_len(job$n_persons)),
    item = factor(job$item, levels = seq_len(job$n_items))
  )
}

# Building takes 40 s and more. What was built is kept under a name made of all that it depends on.
.build <- function(code, job, at) {
  began <- proc.time()[["elapsed"]]
  file <- if (!is.null(job$cache)) file.path(job$cache, paste0("brms-", .key(code), ".rds"))
  if (!is.null(file) && file.exists(file)) {
    model <- tryCatch(readRDS(file), error = function(e) NULL)
    if (methods::is(model, "stanmodel") && identical(as.character(model@model_code), code)) {
      return(list(model = model, seconds = proc.time()[["elapsed"]] - began, from_cache = TRUE))
    }
  }
  at("building the Stan program")
  model <- rstan::stan_model(model_code = code, model_name = "psychoeval", save_dso = TRUE)
  seconds <- proc.time()[["elapsed"]] - began
  problem <- if (is.null(file)) job$cache_problem else .keep(model, file)
  list(model = model, seconds = seconds, from_cache = FALSE, problem = problem)
}

.key <- function(code) {
  packages <- c("brms", "rstan", "StanHeaders", "Rcpp", "RcppEigen", "RcppParallel", "BH")
  makevars <- file.path(path.expand("~"), ".R", "Makevars")
  text <- c(
    code, R.version.string, R.version$platform, vapply(packages, .version, ""),
    if (file.exists(makevars)) readLines(makevars, warn = FALSE)
  )
  file <- tempfile()
  on.exit(unlink(file))
  writeLines(enc2utf8(text), file, useBytes = TRUE)
  unname(tools::md5sum(file))
}

# Renamed when complete: another process may be reading.
.keep <- function(model, file) {
  part <- paste0(file, ".", Sys.getpid(), ".part")
  problem <- tryCatch(
    {
      saveRDS(model, part)
      if (file.rename(part, file)) NULL else "it could not be renamed"
    },
    error = function(e) conditionMessage(e),
    warning = function(w) conditionMessage(w)
  )
  if (!is.null(problem)) unlink(part)
  problem
}

# One call a chain, as many at a time as wanted: the number of the chain and the seed fix its draws. (Several chains in
# one call end together when one of them fails.)
.sample <- function(x, code, model, job) {
  data <- brms::standata(x)
  standardized <- unique(regmatches(code, gregexpr("\\bz_[0-9]+\\b", code))[[1]])
  control <- c(list(adapt_delta = job$adapt_delta, max_treedepth = job$max_treedepth), job$control)
  chain <- function(k) {
    log <- tempfile()
    con <- file(log, "w")
    on.exit(close(con))
    sink(con, split = TRUE)
    said <- character()
    fit <- withCallingHandlers(
      tryCatch(
        rstan::sampling(
          model, data, pars = standardized, include = FALSE, chains = 1, chain_id = k, iter = job$warmup + job$samples,
          warmup = job$warmup, seed = job$seed, init = job$init, init_r = job$init_r, control = control, cores = 1,
          refresh = max(1, (job$warmup + job$samples) %/% 20), save_warmup = FALSE
        ),
        error = function(e) conditionMessage(e)
      ),
      warning = function(w) invokeRestart("muffleWarning"),  # of R-hat and the like: judged on all chains together
      message = function(m) {
        said <<- c(said, conditionMessage(m))
        invokeRestart("muffleMessage")
      }
    )
    sink()
    flush(con)
    if (methods::is(fit, "stanfit") && fit@mode == 0L) return(fit)
    why <- c(said, readLines(log, warn = FALSE), if (is.character(fit)) fit)
    why <- trimws(why[nzchar(trimws(why)) & !grepl("Iteration:", why, fixed = TRUE)])
    paste(utils::tail(why, 12), collapse = "\n")
  }
  # No warnings of parallel: a child that died shows below as a chain without a fit.
  runs <- suppressWarnings(
    parallel::mclapply(seq_len(job$chains), chain, mc.cores = job$cores, mc.preschedule = FALSE)
  )
  ran <- vapply(runs, methods::is, TRUE, "stanfit")
  died <- if (.has_room()) "it died" else paste("it died: No space left on device", tempdir())
  failed <- vapply(runs[!ran], function(r) if (length(r)) paste(as.character(r), collapse = " ") else died, "")
  names(failed) <- which(!ran)
  list(fits = runs[ran], chains = which(ran), failed = as.list(enc2utf8(failed)))
}

# A chain that cannot write dies without a word. R does not always say that a disk is full: the size tells.
.has_room <- function() {
  file <- tempfile()
  on.exit(unlink(file))
  suppressWarnings(try(writeBin(raw(1e6), file), silent = TRUE))
  isTRUE(file.size(file) == 1e6)
}

# Of each part of the formula: its common value, the SD over items or persons, and the deviation or value of each.
# Doubles run through the draws first, then chains, then items or persons.
.draws <- function(x, parts) {
  all <- unclass(brms::as_draws_array(x))
  names <- dimnames(all)[[3]]
  pick <- function(wanted) if (any(wanted)) as.double(all[, , wanted])
  found <- lapply(parts, function(part) {
    list(
      common = pick(names == paste0("b_", part, "_Intercept")),
      sd = pick(grepl(paste0("^sd_(item|person)__", part, "_Intercept$"), names)),
      deviation = pick(grepl(paste0("^r_(item|person)__", part, "\\["), names)),
      each = pick(grepl(paste0("^b_", part, "_item[0-9]+$"), names))
    )
  })
  names(found) <- parts
  found
}

.statistics <- function(fits) {
  each <- lapply(fits, function(f) rstan::get_sampler_params(f, inc_warmup = FALSE)[[1]])
  named <- c(
    acceptance_rate = "accept_stat__", step_size = "stepsize__", tree_depth = "treedepth__", n_steps = "n_leapfrog__",
    diverging = "divergent__", energy = "energy__"
  )
  found <- lapply(named, function(name) as.double(unlist(lapply(each, function(p) p[, name]))))
  c(found, list(lp = as.double(unlist(lapply(fits, function(f) rstan::extract(f, "lp__", permuted = FALSE))))))
}
