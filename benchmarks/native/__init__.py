"""Marginal-likelihood programs on simulated data of known truth: time, memory, recovery, coverage, prediction."""
