"""The mathematics: arrays in, arrays out; NumPy and SciPy only."""
