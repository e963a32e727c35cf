# The child process of an R program: read a job, fit, write what was found.

used <- function() sum(proc.time()[c("user.self", "sys.self", "user.child", "sys.child")], na.rm = TRUE)

status_mb <- function(field) {
  lines <- tryCatch(readLines("/proc/self/status"), error = function(e) character())
  line <- grep(paste0("^", field), lines, value = TRUE)
  if (length(line)) as.numeric(gsub("[^0-9]", "", line[1])) / 1024 else NA
}

warm_up <- function() {
  set.seed(0)
  theta <- rnorm(120)
  b <- seq(-1, 1, length.out = 8)
  matrix(as.numeric(runif(960) < plogis(outer(theta, b, "-"))), 120)
}

run_job <- function(fit) {
  folder <- commandArgs(TRUE)[1]
  job <- jsonlite::fromJSON(file.path(folder, "job.json"))
  x <- readBin(file.path(folder, "cells.u8"), "integer", job$n_persons * job$n_items, size = 1, signed = FALSE)
  X <- matrix(as.numeric(x), job$n_persons, byrow = TRUE)
  X[X == 255] <- NA
  named <- function(M) {
    colnames(M) <- paste0("i", seq_len(ncol(M)))
    M
  }
  X <- named(X)
  rm(x)
  try(suppressWarnings(fit(named(warm_up()), job$settings)), silent = TRUE)
  invisible(gc())
  try(cat("5", file = "/proc/self/clear_refs"), silent = TRUE)
  held <- status_mb("VmRSS")
  wall <- proc.time()[["elapsed"]]
  cpu <- used()
  found <- fit(X, job$settings)
  reply <- list(cpu = used() - cpu, wall = proc.time()[["elapsed"]] - wall, peak_mb = status_mb("VmHWM"), held_mb = held)
  for (name in names(found)) {
    if (name %in% c("theta", "theta_se", "a", "d", "a_se", "b_se")) {
      writeBin(as.numeric(found[[name]]), file.path(folder, paste0(name, ".f64")))
    } else {
      reply[[name]] <- found[[name]]
    }
  }
  writeLines(jsonlite::toJSON(reply, auto_unbox = TRUE, digits = 17, na = "null"), file.path(folder, "reply.json"))
}
