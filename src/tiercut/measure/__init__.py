"""What the runs of a comparison came to: curves, targets and gains, from their folders alone.

    points    a run's curve: accuracy, seconds and bytes after every round
    decision  what a run's plan decided
    manifest  what is compared, as manifest.json of a comparison says it
    results   a comparison's folder, read
    spread    the same quantity over several seeds
    targets   when an accuracy is reached, and which ones to look at
    gains     what one scheme saves over the others
    summary   summary.json
    lessons   runs that plans can learn from
    tuning    which of several settings suits each scheme best

No wall-clock value enters: the same runs give the same summary, byte for byte. docs/comparing.md is
the page for users.
"""
