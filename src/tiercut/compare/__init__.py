"""Schemes against each other: every scheme trains from every seed, each run by itself.

    override    keys of the scenario that differ for one scheme alone
    fixed       h, v and lambda for HSFL-ll, which does not choose them
    comparison  what is compared, and the setting of every run
    check       what would stop a comparison later stops it before anything is trained
    runs        the runs, one after another or on a cluster; the summary after each
    watcher     who is told how the runs get on
    settings    combinations of values to try
    tuning      the best setting for every scheme, from comparisons at several
    messenger   what happens in a run, told from where it is trained

What the runs came to is measured by tiercut.measure. docs/comparing.md is the page for users.
"""
