"""Stan's HMC: one set of programs, two back ends (stanli, CmdStan)."""
