"""The command line: one verb per file, and the one place where everything is put together.

Verbs import what they need when they run, so that `tiercut --help` starts in a blink and planning
never loads torch. Errors meant for people become one message and an exit code (docs/exit-codes.md);
a traceback is only ever shown on request.
"""

from __future__ import annotations

import os
import signal
import sys
import traceback
from typing import Any

import typer

from tiercut import __version__
from tiercut.cli import (
    certs,
    compare,
    cost,
    data,
    emulate,
    fleet,
    join,
    measure,
    plan,
    probe,
    profile,
    replan,
    report,
    reproduce,
    serve,
    status,
    timeline,
    train,
    tune,
)
from tiercut.errors import BUG_EXIT_CODE, INTERRUPTED_EXIT_CODE, InputError, TiercutError

app = typer.Typer(
    name="tiercut",
    help="Plan, train and measure neural networks cut twice and trained on three tiers.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
app.command("profile")(profile.profile)
app.add_typer(fleet.app, name="fleet")
app.add_typer(data.app, name="data")
app.command("probe")(probe.probe)
app.command("plan")(plan.plan)
app.command("replan")(replan.replan)
app.command("cost")(cost.cost)
app.command("timeline")(timeline.timeline)
app.command("train")(train.train)
app.command("compare")(compare.compare)
app.command("tune")(tune.tune)
app.command("measure")(measure.measure)
app.command("report")(report.report)
app.command("reproduce")(reproduce.reproduce)
app.add_typer(certs.app, name="certs")
app.command("serve")(serve.serve)
app.command("join")(join.join)
app.command("status")(status.status)
app.command("emulate")(emulate.emulate)


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"tiercut {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: bool = typer.Option(
        False, "--version", callback=_show_version, is_eager=True, help="Show the version."
    ),
) -> None:
    """Plan, train and measure neural networks cut twice and trained on three tiers."""


class Interrupted(BaseException):
    """Ctrl-C. Typer swallows KeyboardInterrupt, and with it the chance to say what is kept."""


def _interrupt(*_: Any) -> None:
    raise Interrupted


def main() -> None:
    """Run the command line; exits with the code that docs/exit-codes.md lists."""
    try:
        signal.signal(signal.SIGINT, _interrupt)
        app()
    except TiercutError as error:
        _fail(str(error), error.exit_code)
    except Interrupted:
        _fail("interrupted; nothing that was already written is lost", INTERRUPTED_EXIT_CODE)
    except SystemExit as stop:
        # The reader of our output went away, as `| head` does. Typer calls that a failure.
        if not isinstance(stop.__context__, BrokenPipeError):
            raise
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(0)
    except OSError as error:
        _fail(
            f"{error.strerror or error}: {error.filename or 'standard output'}",
            InputError.exit_code,
        )
    except Exception as error:
        if os.environ.get("TIERCUT_DEBUG"):
            traceback.print_exc()
        _fail(
            f"this is a bug in tiercut {__version__}: {type(error).__name__}: {error}\n"
            "set TIERCUT_DEBUG=1 and run it again to see where, and please report it",
            BUG_EXIT_CODE,
        )


def _fail(message: str, code: int) -> None:
    for line in message.splitlines():
        print(f"tiercut: {line}", file=sys.stderr)
    sys.exit(code)
