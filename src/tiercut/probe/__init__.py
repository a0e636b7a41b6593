"""Algorithm 1: which cut layers keep accuracy.

    result    what was found: a table of accuracies, its file, and V* for any threshold
    trial     what every cut is tried on: one model, the same clients, the same data
    held_out  who tries, and the examples that accuracy is measured on
    training  some cuts at once, as replicas of one stack
    jury      how good all replicas of a stack are
    memory    how many cuts fit at once
    run       all cuts, a chunk at a time; what is known is not done again

`result` starts without torch, so that planning with a probe does.
"""
