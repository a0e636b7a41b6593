"""The paper's tables and figures, made again: its printed figures beside ours, and why they differ.

    paper_figures    the numbers that the paper prints about plans
    paper_curves     those that it prints about training
    settings         its four settings, read from scenario files
    results          a table as result.json and README.md
    catalogue        everything by name

Without training:

    decisions        choosing h, v and lambda over several fleets, and pricing the paper's choice
    table_iv ...     one module per table
    tables           all of them

With training:

    study            who is compared, on which scenario
    contenders       variants of schemes under names of their own
    figure_2 ...     one module per kind of study, with what it makes of the results
    swift, brisk     figures 6 and 7 with shorter rounds
    free             figures 5 and 7 with every scheme freely tuned
    small            figures 6 and 7 so, with small batches
    fine             figures 4 and 5 so, and with a server that sees a share
    tunings          the settings that it is tuned over
    lean             figures 4 to 7 with the fewest bytes
    readings         what is read off the runs of a contender
    savings          what a contender saves over the best rival
    stand            whether all runs are there
    runs             training them: the only module that needs torch, imported when it does
    trained          the table of a study, from the folder of its runs
    table_iii        Table III, from the runs of several studies
    contest          who is at an accuracy with the least, of all versions of a figure
    gains            what our options reach against rivals as published and at their best
    gains_network    the same in time on a real network
    least            with how little an accuracy is reached, and with which scenario
    quick            a study in seconds

`tiercut reproduce` is the command; docs/reproducing.md is the page for users.
"""
