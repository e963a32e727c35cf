# Likelihood-ratio tests of DIF by mirt: all items equal in both groups, the focal group's mean and variance free, and
# one item after another freed (scheme "drop").
dif_mirt <- function(job) {
  y <- matrix(job$x, length(job$group), job$n_items)
  colnames(y) <- paste0("i", seq_len(job$n_items))
  technical <- list(NCYCLES = 5000)
  fitted <- mirt::multipleGroup(
    as.data.frame(y), 1, group = factor(job$group, levels = unique(job$group)), itemtype = job$model,
    invariance = c(colnames(y), "free_means", "free_var"), TOL = 1e-8, verbose = FALSE, technical = technical,
    quadpts = 121
  )
  found <- mirt::DIF(
    fitted, which.par = if (job$model == "Rasch") "d" else c("a1", "d"), scheme = "drop", p.adjust = "none",
    items2test = job$items, verbose = FALSE, TOL = 1e-8, technical = technical
  )
  list(x2 = as.double(found$X2), df = as.double(found$df), p = as.double(found$p), log_likelihood = mirt::logLik(fitted))
}
