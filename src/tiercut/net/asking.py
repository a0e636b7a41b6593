"""Asking a server how things stand, as `tiercut status` does."""

from __future__ import annotations

import asyncio
import json
import re

import grpc

from tiercut.documents import check, check_version
from tiercut.errors import InputError, MissingError, TiercutError
from tiercut.net.identity import SERVER
from tiercut.net.status import VERSION, Status
from tiercut.net.streams import Security, ask_once, reason_of

ANSWER = 10.0
"""Seconds that a server has to answer."""
SAME_VERSION = "install the same version of tiercut here as there"


async def ask_status(security: Security, server: str) -> Status:
    """How things stand; MissingError where the server does not answer, InputError if it refuses."""
    # A channel for every question: one that has failed waits longer and longer before it tries
    # again, and whoever watches a server wants to know at once that it is back.
    channel = security.channel(server, SERVER)
    try:
        async with asyncio.timeout(ANSWER):
            answer = await ask_once(channel, "Status", security.name)
    except TimeoutError:
        raise _unanswered(server, f"nothing came within {ANSWER:g} s") from None
    except grpc.aio.AioRpcError as problem:
        raise _explained(problem, server) from None
    finally:
        await channel.close()
    return _read(answer, server)


def _read(answer: bytes, server: str) -> Status:
    try:
        data = json.loads(answer)
        check_version(data, server, "status", VERSION)
        return check(Status, data, server)
    except (ValueError, TypeError, InputError) as problem:
        first = str(problem).splitlines()[0]
        raise InputError(
            f"{server} tells no status that can be read: {first}; {SAME_VERSION}"
        ) from None


def _explained(problem: grpc.aio.AioRpcError, server: str) -> TiercutError:
    reason = re.sub(r"^(.*last error: )?[A-Z]+: ", "", reason_of(problem))
    if problem.code() is grpc.StatusCode.PERMISSION_DENIED:
        return InputError(
            f"{server} refuses to tell its status: {reason}; ask with a certificate that its CA has"
            f" issued and not taken back"
        )
    if problem.code() is grpc.StatusCode.UNIMPLEMENTED:
        return InputError(f"{server} is no server of tiercut that tells its status; {SAME_VERSION}")
    return _unanswered(server, reason)


def _unanswered(server: str, reason: str) -> MissingError:
    return MissingError(
        f"{server} does not answer: {reason}; check that `tiercut serve` runs there, and that both"
        f" have certificates of one CA, or both --insecure"
    )
