# Reports this R and the packages that psychoeval works with, as lines of tab-separated fields behind a marker,
# because start-up files may print too. What is asked for stands in DESCRIPTION, beside this file.
#
#   Rscript check_install.R

say <- function(...) cat(paste0("\npsychoeval:", paste(..., sep = "\t"), "\n"))

# R writes a space in this argument as ~+~.
here <- dirname(gsub("~+~", " ", sub("^--file=", "", grep("^--file=", commandArgs(FALSE), value = TRUE)), fixed = TRUE))
needs <- function(dcf, fields) {
  found <- unlist(strsplit(as.character(unlist(dcf[intersect(fields, names(dcf))])), ","))
  found <- trimws(gsub("[[:space:]]+", " ", found))
  found <- as.character(found[nzchar(found)])
  least <- ifelse(grepl(">=", found), sub(".*>= *([0-9.-]+).*", "\\1", found), "0")
  data.frame(package = sub(" *\\(.*", "", found), least = least)
}

# What stops a package from loading: itself or something it builds on, missing or too old. Nothing is loaded: mirt
# alone would take seconds.
fault <- function(package, least, seen) {
  if (package %in% ls(seen)) return("")
  assign(package, TRUE, envir = seen)
  description <- suppressWarnings(packageDescription(package))
  if (!is.list(description)) return(paste("its dependency", package, "is missing"))
  version <- description$Version
  if (compareVersion(version, least) < 0) {
    return(paste("its dependency", package, version, "is older than", least))
  }
  if (identical(description$Priority, "base")) return("")
  below <- needs(description, c("Depends", "Imports"))
  below <- below[below$package != "R", ]
  for (i in seq_len(nrow(below))) {
    found <- fault(below$package[i], below$least[i], seen)
    if (nzchar(found)) return(found)
  }
  ""
}

report <- function(package, least) {
  path <- find.package(package, quiet = TRUE)
  if (length(path) == 0) return(say("package", package, least, "", "", "", ""))
  description <- packageDescription(package, lib.loc = dirname(path[1]))
  built <- sub("^R ([0-9.]+);.*", "\\1", description$Built)
  say("package", package, least, description$Version, built, path[1], fault(package, "0", new.env()))
}

own <- as.list(read.dcf(file.path(here, "DESCRIPTION"))[1, ])
say("version", as.character(getRversion()))
say("platform", R.version$platform)
say("home", R.home())
for (library in .libPaths()) say("library", library)
least_r <- needs(own, "Depends")
say("least", least_r$least[least_r$package == "R"])
asked <- needs(own, c("Imports", "Suggests"))
for (i in seq_len(nrow(asked))) report(asked$package[i], asked$least[i])
say("end")
