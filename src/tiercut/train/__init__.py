"""Training round by round on a virtual clock: what `tiercut train` does.

    setting     a scenario as the values of a run: data, fleet, model, scheme, planner
    overrides   a scenario with other values than its file has
    planner     plans for whatever fleet there is, always on the same terms
    events      what happens to the fleet before a round
    turnout     who takes part in a round, and who fails in it
    course      a round's fleet, plan and turnout, from the setting and the round's number
    record      what is kept of a round
    journal     rounds.jsonl, the rounds' records
    checkpoint  the engine's state in a file, durable before the last one goes
    identity    what must not change between the parts of a run
    folder      a run's folder: what is in it, and whether a run may start or go on there
    loop        the rounds, one after another
    observer    who is told what happens
    trackers    TensorBoard, MLflow and W&B as observers

docs/training.md is the page for users.
"""
