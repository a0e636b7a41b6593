"""Planning for a goal: as little time, or as few bytes, as possible until a target accuracy.

    rounds      an estimate of the rounds to the target, and who can give one
    curve       when a curve reaches an accuracy
    probed      rounds from the curves of a probe
    lesson      a run that was trained, and what of it is known before training
    regression  least squares on few runs, checked on those left out
    learned     rounds from runs
    choices     every h, v and number of aggregators, with its rounds
    fastest     the least rounds x seconds of a round
    leanest     the least rounds x bytes of a round
    objective   what was aimed at, and what a plan is expected to come to
    reach       the one call behind which both goals stand

docs/objective.md is the page for users.
"""
