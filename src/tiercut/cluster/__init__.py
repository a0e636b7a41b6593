"""Pieces of work that need nothing of each other, and those who do them: this process, or Ray.

    workers   what a piece of work is, and this process, which does one after another
    spread    workers on a Ray cluster: many at once, and again where one is lost
    connect   Ray, joined or started for as long as it is needed

It knows nothing of models and rounds; compare hands in runs, and probe hands in cuts.
"""
