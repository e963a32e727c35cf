"""Items without a model: classical statistics, binned curves, resampling, factors, paired tests."""
