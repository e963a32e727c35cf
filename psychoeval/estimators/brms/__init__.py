"""R's brms: item response models as multilevel non-linear formulas, sampled by Stan."""
