"""Algorithm 1: which cut layers keep accuracy."""
