"""A network on one machine: hosts as network namespaces, shaped links, throttled processors.

    network    the whole of it, as a context manager: one host per client of a fleet, and the server
    host       one of them: run commands in it, cut it off, count its bytes
    middle     where all links meet, and can be cut
    links      how fast which two hosts can talk, and the queues that make it so
    throttle   a share of a core for each host, by cgroups
    names      what the parts are called, and whether their maker still lives
    leftovers  taking a network down, also one whose maker was killed
    interrupts Ctrl-C waits until it is done
    tools      ip, tc and nsenter
    obstacle   why this machine cannot do it
    shares     the cores of this machine, shared out as a fleet's throughputs are
    rehearsal  a training run there: the server's program, and one for each device
    watch      following it round by round
    outcome    what came of it: predicted against measured

Rates are those of the wire, headers included, as links are sold: of 20 Mbps about 19.1 Mbps carry a
TCP connection's bytes. There is no added latency and no random loss.
"""
