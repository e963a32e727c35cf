"""Estimators computed by NumPy and SciPy."""
