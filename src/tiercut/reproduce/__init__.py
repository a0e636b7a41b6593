"""The paper's tables, made again: its printed figures beside ours, and why they differ.

    paper_figures  the numbers that the paper prints
    settings       its four settings, read from scenario files
    decisions      choosing h, v and lambda over several fleets, and pricing the paper's choice
    table_iv ...   one module per table
    tables         all of them by name
    results        a table as result.json and README.md

Only tables that need no training are here; `tiercut reproduce` is the command.
"""
