"""Addresses as host:port, and which of a machine's own others can call."""

from __future__ import annotations

import socket

from tiercut.errors import InputError

SERVER_PORT, DEVICE_PORT = 7600, 7601
ANYWHERE = ("0.0.0.0", "[::]", "")
"""Hosts that stand for all addresses of a machine; nobody can call them."""


def split_address(text: str, option: str) -> tuple[str, int]:
    """Host and port; `option` is what to blame where the text is no address."""
    host, colon, port = text.rpartition(":")
    if not colon or not port.isascii() or not port.isdigit() or int(port) > 65535:
        raise InputError(f"{option} is {text!r}; expected host:port, such as 10.0.0.5:7600")
    if ":" in host and not (host.startswith("[") and host.endswith("]")):
        raise InputError(f"{option} is {text!r}; write an IPv6 address in brackets, [::1]:7600")
    return host, int(port)


def check_advertised(text: str) -> str:
    """An address that others can call."""
    host, port = split_address(text, "--advertise")
    if host in ANYWHERE or port == 0:
        raise InputError(f"--advertise is {text!r}; give the host and port that others can call")
    return text


def towards(server: str) -> str:
    """The address of this machine that it calls a server from; others reach it there too."""
    host, port = split_address(server, "the server")
    try:
        family, kind, protocol, _, place = socket.getaddrinfo(
            host.strip("[]"), port or SERVER_PORT, type=socket.SOCK_DGRAM
        )[0]
        with socket.socket(family, kind, protocol) as probe:
            probe.connect(place)  # sends nothing: it only chooses the way
            own = str(probe.getsockname()[0])
    except OSError as problem:
        raise InputError(
            f"there is no way to {server}: {problem.strerror or problem}; check the address and the"
            f" network, or say what others are to call with --advertise"
        ) from None
    return f"[{own}]" if ":" in own else own
