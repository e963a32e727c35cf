# Reports this R and the packages that psychoeval works with, as lines of tab-separated fields behind a marker,
# because R may print more. What is asked for stands in DESCRIPTION, beside this file.
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

# Where R would load a package from, and its description, or what is wrong with it. R passes over folders that it
# cannot read; one that has no other behind it is damaged.
look <- function(package) {
  path <- find.package(package, quiet = TRUE)
  if (length(path) == 0) {
    there <- file.path(.libPaths(), package)
    there <- there[dir.exists(there)]
    if (length(there) == 0) return(list(path = "", fault = "is missing"))
    return(list(path = there[1], fault = paste("cannot be read in", there[1])))
  }
  description <- tryCatch(
    suppressWarnings(packageDescription(package, lib.loc = dirname(path[1]))),
    error = function(e) conditionMessage(e)
  )
  if (is.list(description)) return(list(path = path[1], description = description, fault = ""))
  list(path = path[1], fault = paste0("cannot be read in ", path[1], " (", description, ")"))
}

# What stops a package from loading: itself or something it builds on, missing, damaged or too old. Nothing is loaded:
# mirt alone would take seconds.
fault <- function(package, least, seen) {
  if (package %in% ls(seen)) return("")
  assign(package, TRUE, envir = seen)
  found <- look(package)
  if (nzchar(found$fault)) return(paste("its dependency", package, found$fault))
  version <- found$description$Version
  if (compareVersion(version, least) < 0) {
    return(paste("its dependency", package, version, "is older than", least))
  }
  if (identical(found$description$Priority, "base")) return("")
  below <- needs(found$description, c("Depends", "Imports"))
  below <- below[below$package != "R", ]
  for (i in seq_len(nrow(below))) {
    wrong <- fault(below$package[i], below$least[i], seen)
    if (nzchar(wrong)) return(wrong)
  }
  ""
}

one_line <- function(text) gsub("[[:space:]]+", " ", text)

report <- function(package, least) {
  found <- look(package)
  if (nzchar(found$fault)) {
    said <- if (nzchar(found$path)) paste("its DESCRIPTION", found$fault) else ""
    return(say("package", package, least, "", "", found$path, one_line(said)))
  }
  built <- sub("^R ([0-9.]+);.*", "\\1", found$description$Built)
  wrong <- tryCatch(
    fault(package, "0", new.env()),
    error = function(e) paste("what it builds on cannot be read:", conditionMessage(e))
  )
  say("package", package, least, found$description$Version, built, found$path, one_line(wrong))
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
