"""How training is executed: `reference` reads like the paper, `stacked` is the one people use."""
