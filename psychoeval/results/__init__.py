"""What an estimator returns."""
