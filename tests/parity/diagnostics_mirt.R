# mirt's fit of the 2PL and what itemfit, personfit, residuals and M2 say of it; S-X2 and M2 on complete data only. Q3
# runs down the columns of the lower triangle.
mirt_diagnostics <- function(job) {
  y <- matrix(job$x, job$n_persons, job$n_items, dimnames = list(NULL, paste0("i", seq_len(job$n_items))))
  y[is.nan(y)] <- NA
  fitted <- mirt::mirt(y, 1, itemtype = "2PL", TOL = 1e-10, quadpts = 61, technical = list(NCYCLES = 5000),
                       verbose = FALSE)
  complete <- !anyNA(y)
  items <- mirt::itemfit(fitted, fit_stats = if (complete) c("S_X2", "infit") else "infit")
  persons <- mirt::personfit(fitted)
  q3 <- mirt::residuals(fitted, type = "Q3", verbose = FALSE)
  table <- mirt::coef(fitted, simplify = TRUE)$items
  found <- list(
    slope = as.double(table[, "a1"]), intercept = as.double(table[, "d"]), infit = as.double(items$infit),
    outfit = as.double(items$outfit), zh = as.double(persons$Zh), q3 = as.double(q3[lower.tri(q3)])
  )
  if (complete) {
    found$s_x2 <- as.double(items$S_X2)
    found$df <- as.double(items$df.S_X2)
    found$p <- as.double(items$p.S_X2)
    found$m2 <- as.double(mirt::M2(fitted)[c("M2", "df", "SRMSR", "CFI", "TLI")])
  }
  found
}
