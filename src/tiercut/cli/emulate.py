"""`tiercut emulate`: a scenario's server and devices on this machine, on links like theirs."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tiercut.cli.data import DirOption, deal
from tiercut.cli.inputs import JsonOption
from tiercut.errors import InputError, MissingError

if TYPE_CHECKING:
    from tiercut.fleet import Fleet
    from tiercut.net.emulate.network import EmulatedNetwork
    from tiercut.net.emulate.outcome import Outcome
    from tiercut.net.emulate.rehearsal import Program
    from tiercut.net.emulate.shares import Shares
    from tiercut.scenario import Scenario
    from tiercut.train.folder import RunFolder

LOGS = "nodes"
"""The part of a run's folder for what each node says."""
CA, DATA = "ca", "data"
"""The parts of the folder for what is not kept."""
TIERCUT = (sys.executable, "-m", "tiercut")


def emulate(
    scenario: Annotated[Path, typer.Argument(help="A scenario file (TOML).")],
    scheme: Annotated[
        str | None, typer.Option("--scheme", help="Which scheme [the solver's].")
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="The run's folder [runs/NAME-SCHEME-emulated]."),
    ] = None,
    rounds: Annotated[int | None, typer.Option("--rounds", help="How many rounds.")] = None,
    seed: Annotated[int | None, typer.Option("--seed", help="Root of all randomness.")] = None,
    cores: Annotated[
        float | None,
        typer.Option("--cores", help="Cores that all hosts share [what this machine has]."),
    ] = None,
    data_dir: DirOption = None,
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Replace a run that the folder holds.")
    ] = False,
    json: JsonOption = False,
) -> None:
    """Train on hosts with the fleet's links and shares of this machine's processors."""
    from tiercut.cli.train import default_folder
    from tiercut.documents import to_json
    from tiercut.net.emulate.obstacle import obstacle
    from tiercut.scenario import read_scenario
    from tiercut.train.folder import RunFolder
    from tiercut.train.overrides import override
    from tiercut.train.setting import find_method

    wanted = override(read_scenario(scenario), seed=seed, training={"rounds": rounds})
    chosen, _ = find_method(wanted, scheme)
    folder = RunFolder(output or Path(f"{default_folder(wanted, chosen)}-emulated"))
    folder.refuse_second(resume=False, overwrite=overwrite)
    options = {"--rounds": rounds, "--seed": seed, "--scheme": scheme, "--data-dir": data_dir}
    in_the_way = obstacle(shared=wanted.fleet.links == "access")
    if in_the_way is not None:
        raise MissingError(in_the_way)
    play = _Play(wanted, scenario, folder, options, _find_cores(cores), data_dir)
    outcome = play.run()
    if json:
        typer.echo(to_json({"folder": str(folder.path), **outcome.to_dict()}), nl=False)
    else:
        _show(outcome, folder)


def _find_cores(wanted: float | None) -> float:
    here = len(os.sched_getaffinity(0))
    if wanted is None:
        return float(here)
    if not 0 < wanted <= here:
        raise InputError(f"--cores is {wanted:g}; expected more than 0, and at most {here}")
    return wanted


@dataclass(frozen=True, eq=False)
class _Play:
    """A scenario on an emulated network."""

    scenario: Scenario
    file: Path
    """Where the scenario is from."""
    folder: RunFolder
    options: Mapping[str, object]
    """What to tell `tiercut serve` beside the file."""
    cores: float
    data_dir: Path | None

    def run(self) -> Outcome:
        """Train; what is not for keeping is gone afterwards."""
        from tiercut.fleet import build_fleet, read_fleet
        from tiercut.net.emulate.leftovers import passing_files
        from tiercut.net.emulate.network import EmulatedNetwork
        from tiercut.net.emulate.outcome import Outcome, describe
        from tiercut.net.emulate.rehearsal import rehearse
        from tiercut.net.emulate.watch import Watch
        from tiercut.seeds import Seeds
        from tiercut.train.journal import read_records

        fleet = build_fleet(self.scenario.fleet, Seeds(self.scenario.seed))
        shares = self._find_shares(fleet)
        parts = (None, None) if shares is None else (shares.clients, shares.server)
        network = EmulatedNetwork(fleet, shares=parts[0], server_share=parts[1])
        watch = Watch(network, self.folder, lambda record: _say(describe(record)))
        with passing_files() as files:
            self._hand_out(network, files)
            self.folder.clear()
            self.folder.fleet.unlink(missing_ok=True)  # it tells how far the new run is
            with network:
                _say(f"{len(fleet)} devices and their server start and measure one another")
                rehearse(
                    network,
                    self._server(files, network, shares),
                    self._devices(files, network, shares),
                    watch.look,
                )
                watch.look()
        records, found = read_records(self.folder.rounds), read_fleet(self.folder.fleet)
        return Outcome(records, fleet, found, shares, watch.wire)

    def _find_shares(self, fleet: Fleet) -> Shares | None:
        """What each host gets of the processors; nothing in particular where that cannot be."""
        from tiercut.net.emulate.shares import share_out
        from tiercut.net.emulate.throttle import throttle_obstacle

        reason = throttle_obstacle()
        if reason is not None:
            _say(f"all hosts compute as fast as they can, because {reason}")
            return None
        shares = share_out(fleet, self.cores)
        low, high = min(shares.clients), max(shares.clients)
        _say(
            f"devices get {low:.3g} to {high:.3g} of a core and the server {shares.server:.3g}, in"
            f" proportion to their throughputs; together {shares.total:.3g}"
        )
        return shares

    def _hand_out(self, network: EmulatedNetwork, files: Path) -> None:
        """Give every host its data and its certificate."""
        from tiercut.data.handout import hand_out
        from tiercut.net.certs import create_ca, issue

        data, parts = deal(self.scenario, self.data_dir)
        seed, partition = self.scenario.seed, self.scenario.data.partition
        hand_out(data, parts, files / DATA, partition=partition, seed=seed)
        create_ca(files / CA)
        for host in network.hosts:
            issue(files / CA, [host.name], addresses=[host.address], days=1)

    def _server(self, files: Path, network: EmulatedNetwork, shares: Shares | None) -> Program:
        from tiercut.net.emulate.rehearsal import LISTENS, Program

        name, share = network.server.name, None if shares is None else shares.server
        command = [
            *(*TIERCUT, "serve", str(self.file), "--certs", str(_certs(files, name))),
            *("-o", str(self.folder.path), "--clients", str(len(network.clients)), "--measure"),
        ]
        for option, value in self.options.items():
            command += [] if value is None else [option, str(value)]
        return Program(command, self._log(name), LISTENS, share)

    def _devices(
        self, files: Path, network: EmulatedNetwork, shares: Shares | None
    ) -> list[Program]:
        from tiercut.net.addresses import SERVER_PORT
        from tiercut.net.emulate.rehearsal import HAS_JOINED, Program

        own_code = self._own_code()
        programs = []
        for n, host in enumerate(network.clients):
            command = [
                *(*TIERCUT, "join", f"{network.server.address}:{SERVER_PORT}"),
                *("--certs", str(_certs(files, host.name))),
                *("--data", str(files / DATA / f"{host.name}.npz"), *own_code),
            ]
            share = None if shares is None else shares.clients[n]
            programs.append(Program(command, self._log(host.name), HAS_JOINED, share))
        return programs

    def _own_code(self) -> list[str]:
        """What devices must be told that they may run: code of the user's own."""
        names = {"--model": self.scenario.model.name, "--scheme": self.options["--scheme"]}
        return [
            word
            for option, name in names.items()
            if isinstance(name, str) and ":" in name
            for word in (option, name)
        ]

    def _log(self, node: str) -> Path:
        return self.folder.path / LOGS / f"{node}.log"


def _certs(files: Path, node: str) -> Path:
    return files / CA / "nodes" / node


def _say(text: str) -> None:
    typer.echo(text, err=True)


def _show(outcome: Outcome, folder: RunFolder) -> None:
    typer.echo(
        f"hosts computed at {outcome.speed:.3g} times the scenario's throughputs; links carried"
        f" {outcome.rate:.1%} of their rates as payload"
    )
    typer.echo(f"everything is in {folder.path}")
