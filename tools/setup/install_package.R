# Installs a package and what it builds on from the repositories given, into the first library that can be written.
#
#   Rscript install_package.R package repository-url...
#
# Status 3, with the names behind "psychoeval:gap", if a package is neither there nor installed: better told at once
# than after minutes of building.

package <- commandArgs(TRUE)[1]
repos <- commandArgs(TRUE)[-1]
# A repository of built packages is read as "source" too: R knows a built package by its Built field.
type <- if (any(startsWith(repos, "file:"))) "source" else getOption("pkgType")

offered <- available.packages(repos = repos)
wanted <- c(package, tools::package_dependencies(package, offered, recursive = TRUE)[[package]])
gap <- setdiff(wanted, c(rownames(offered), rownames(installed.packages())))
if (length(gap) > 0) {
  cat("\npsychoeval:gap", gap, sep = "\t")
  quit(status = 3)
}

target <- Filter(function(library) file.access(library, 2) == 0, .libPaths())[1]
if (is.na(target)) {
  target <- path.expand(strsplit(Sys.getenv("R_LIBS_USER"), .Platform$path.sep)[[1]][1])
  dir.create(target, recursive = TRUE, showWarnings = FALSE)
  .libPaths(target)
}
cores <- max(1, parallel::detectCores(), na.rm = TRUE)
install.packages(package, lib = target, repos = repos, type = type, Ncpus = cores)
quit(status = if (length(find.package(package, quiet = TRUE)) == 1) 0 else 1)
