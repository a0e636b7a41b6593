"""Pictures and tables of plans and comparisons, for people to look at.

    gantt      one batch as a timeline: who computes and sends what, when
    lanes      which nodes a timeline shows, and where
    looks      how each kind of event looks in a timeline
    groups     who serves whom, as a picture and as a table
    flowers    the picture for fleets small enough to draw every client
    rings      where its nodes go
    labels     what its nodes are called
    histogram  the picture for larger fleets
    frontier   the best trades of delay, bytes and aggregators, as a plot
    growth     cost against the size of the fleet, as a plot
    page       a comparison as one HTML page
    summary    a comparison's summary.json, as values
    curves     accuracy against time, bytes or rounds, as a plot
    gains      what a scheme saves over others, as a plot
    traffic    bytes of a round by what they carry, as values
    stacks     the same as a plot
    marks      which colour and mark a scheme has
    wording    numbers in words
    plots      what the plots share
    svg        what the other pictures share: elements, escaping, colours
    ticks      where an axis of time has its marks

Importing any of it is cheap: matplotlib and rich are loaded when they are needed.
"""
