"""Several fits of one data set, set beside each other: alignment, differences, ranks, verdicts."""
