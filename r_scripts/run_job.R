# Rscript run_job.R <script> <function> <job file> <reply file>: the child's side of the Rscript bridge.
arguments <- commandArgs(trailingOnly = TRUE)
functions <- new.env(parent = globalenv())
source(arguments[1], local = functions, encoding = "UTF-8", keep.source = FALSE)
reply <- get(arguments[2], envir = functions, mode = "function")(readRDS(arguments[3]))
# Renamed when complete, so that a reply that is there is whole.
part <- paste0(arguments[4], ".part")
saveRDS(reply, part, compress = FALSE)
invisible(file.rename(part, arguments[4]))
