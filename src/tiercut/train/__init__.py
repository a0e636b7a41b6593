"""Training round by round on a virtual clock: what `tiercut train` does."""
