"""A comparison as one HTML page that needs nothing else: no server, no network, no fonts.

    findings  what the numbers say, a sentence each
    runs      what the runs' folders hold beside the summary
    scene     a plan in its fleet, rebuilt and held against what was recorded
    graph     who serves whom, as nodes with places
    batch     one batch as a timeline, ready to be drawn at any zoom
    real      rounds on real devices, as series of what was predicted and measured
    html      elements and escaping
    tables    the page's tables
    bars      bytes of a round by kind
    measured  the part about real devices
    details   what was run, with what
    figures   the same charts as SVG and PNG
    content   everything a page shows, as values
    build     the page itself: template, styles, scripts and values in one text
    assets/   the template, its styles, and its scripts, which draw the charts

docs/report.md is the page for users.
"""
