"""Small fleets to emulate, and programs that talk over them."""

import subprocess
import sys

import numpy as np

from tiercut.fleet import Access, Between, Fleet
from tiercut.net.emulate.throttle import find_throttle, throttle_obstacle

RECEIVE = """
import socket, sys, time
with socket.create_server((sys.argv[1], 0)) as server:
    print(server.getsockname()[1], flush=True)
    peer, _ = server.accept()
    with peer:
        peer.recv(65536)
        start, count = time.perf_counter(), 0
        while data := peer.recv(65536):
            count += len(data)
        print(count / (time.perf_counter() - start))
"""
"""Takes one connection, and prints the rate at which the bytes after the first came in."""

SEND = """
import socket, sys
with socket.create_connection((sys.argv[1], int(sys.argv[2]))) as peer:
    peer.sendall(bytes(int(sys.argv[3])))
"""

ECHO = """
import socketserver, sys
class Echo(socketserver.BaseRequestHandler):
    def handle(self):
        while data := self.request.recv(100):
            self.request.sendall(data)
with socketserver.ThreadingTCPServer((sys.argv[1], 5001), Echo) as server:
    print(5001, flush=True)
    server.serve_forever()
"""

ASK = """
import socket, sys
peer, due = socket.create_connection((sys.argv[1], 5001)), 0
for patience in sys.stdin:
    peer.sendall(b"?")
    due += 1
    peer.settimeout(float(patience))
    try:
        while due:
            due -= len(peer.recv(due))
        print("heard", flush=True)
    except TimeoutError:
        print("silence", flush=True)
"""
"""Says something for every line that it reads, and waits that long for the echo of all it said."""

KNOCK = """
import socket, sys
try:
    socket.create_connection((sys.argv[1], 5001), timeout=0.3)
    print("open")
except OSError as problem:
    print(problem.strerror or "silence")
"""


def fleet(links, to_server):
    """Clients a, b, ... with these links."""
    count = len(to_server)
    return Fleet(
        tuple("abcdefghijklmnopqrstuvwxyz"[:count]),
        np.full(count, 1e9),
        np.full(count, 10),
        1e9,
        np.array(to_server, dtype=float),
        links,
    )


def between(rates, to_server):
    return fleet(Between(np.array(rates, dtype=float)), to_server)


def access(rates, to_server):
    return fleet(Access(np.array(rates, dtype=float)), to_server)


TRIO = between([[0, 1e6, 5e5], [1e6, 0, 0], [5e5, 0, 0]], [1e6, 1e6, 1e6])
"""a reaches b at 1 MB/s and c at half of it; b and c have no direct link."""


def shares():
    """A tenth of a core for each of three clients, where the machine can throttle."""
    return None if throttle_obstacle() else [0.1, 0.1, 0.1]


def python(host, program, *args, **options):
    """Run a program in a host; what it prints can be read."""
    command = [sys.executable, "-I", "-S", "-c", program, *map(str, args)]
    return host.popen(command, stdout=subprocess.PIPE, text=True, **options)


def listening(host, program):
    """A program that listens in a host, once it does, and its port."""
    process = python(host, program, host.address)
    return process, int(process.stdout.readline())


def said(process):
    """All that a program prints until it ends well."""
    with process:
        text = process.stdout.read()
    assert process.returncode == 0
    return text.strip()


def heard(asking, patience):
    """Whether a running ASK hears its echo."""
    asking.stdin.write(f"{patience}\n")
    asking.stdin.flush()
    return asking.stdout.readline() == "heard\n"


def still_there(names):
    """Those of these names that `ip netns` or the processors' cgroups still show."""
    listed = subprocess.run(["ip", "netns", "list"], capture_output=True, text=True, check=True)
    shown = {line.split()[0] for line in listed.stdout.splitlines()}
    throttle = find_throttle()
    return (shown | set(throttle.names() if throttle else ())) & set(names)
