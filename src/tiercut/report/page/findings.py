"""What the numbers say, a sentence each; and what to keep in mind when reading them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from tiercut.report.summary import Gain, SchemeSummary, Summary
from tiercut.report.wording import count, differs, listed, percent, saved, spread
from tiercut.units import show_size, show_time

FEW_SEEDS = 3
"""With fewer, a spread says little."""


@dataclass(frozen=True)
class Finding:
    """A sentence, and the scheme it is about."""

    text: str
    scheme: str | None = None


def find(summary: Summary) -> list[Finding]:
    """The findings, the most telling first."""
    return [*_gains(summary), *_accuracy(summary), *_rounds(summary), *_missed(summary)]


def cautions(summary: Summary) -> list[str]:
    """Why the findings may not hold: too few seeds, or runs that have not ended."""
    found = [*_unfinished(summary)]
    seeds = len(summary.seeds)
    if seeds == 1:
        found.append("There is one seed only: any difference between schemes may be chance.")
    elif 1 < seeds < FEW_SEEDS:
        found.append(f"There are {seeds} seeds only: small differences may be chance.")
    return found


# ----------------------------------------------------------------------------------------- gains


def _gains(summary: Summary) -> Iterator[Finding]:
    """Every rival at the highest target that both reached from all seeds."""
    for scheme, over in summary.rivals():
        gains = [g for g in summary.gains if (g.scheme, g.over) == (scheme, over)]
        yield Finding(_gain(summary, max(gains, key=lambda gain: gain.target)), scheme)
    if not summary.gains and len(summary.schemes) > 1:
        yield Finding(
            "There is no accuracy that two schemes to be compared reached from all seeds, so what"
            " one saves over the other is not known."
        )


def _gain(summary: Summary, gain: Gain) -> str:
    ours, theirs = summary.title(gain.scheme), summary.title(gain.over)
    costs = [(gain.seconds, "time"), (gain.bytes, "bytes")]
    known = [(share, noun) for share, noun in costs if share is not None]
    other = [saved(share, noun) for share, noun in known if differs(share)]
    same = [saved(share, noun) for share, noun in known if not differs(share)]
    if other:
        says = f"{' and '.join(other)} than {theirs}" + (f", and {same[0]}" if same else "")
    else:
        says = f"{' and '.join(same)} as {theirs}"
    says = f"At {percent(gain.target)} accuracy {ours} needs {says}"
    return f"{says}{_votes(summary, gain)}."


def _votes(summary: Summary, gain: Gain) -> str:
    """In how many seeds it was the faster one; a mean alone may hide that they disagree."""
    pair = [summary.schemes[name] for name in (gain.scheme, gain.over) if name in summary.schemes]
    reached = [scheme.at(gain.target) for scheme in pair]
    seconds = [r.seconds.values for r in reached if r is not None and r.seconds is not None]
    alike = len({scheme.seeds for scheme in pair}) == 1
    if len(seconds) != 2 or not alike or len(seconds[0]) != len(seconds[1]) or len(seconds[0]) < 2:
        return ""
    wins = sum(ours < theirs for ours, theirs in zip(*seconds, strict=True))
    return f"; it was faster in {wins} of {len(seconds[0])} seeds"


# -------------------------------------------------------------------------------- the other ones


def _accuracy(summary: Summary) -> Iterator[Finding]:
    ends = {
        name: scheme.final_accuracy
        for name, scheme in summary.schemes.items()
        if scheme.final_accuracy is not None
    }
    if not ends:
        return
    best = max(ends, key=lambda name: ends[name].mean)
    after = count(_last_round(summary.schemes[best]), "round")
    width = spread(ends[best], lambda share: percent(share, 1))
    says = f"{percent(ends[best].mean, 1)} after {after}" + (f" ({width} over seeds)" * bool(width))
    if len(ends) == 1:
        yield Finding(f"{summary.title(best)} ends at {says}.", best)
        return
    near = [n for n in ends if n != best and ends[n].high >= ends[best].low]
    close = ""
    if near:
        others = listed([summary.title(name) for name in near])
        close = f"; the seeds of {others} reach into that range, so the order is not settled"
    yield Finding(f"{summary.title(best)} ends with the highest accuracy, {says}{close}.", best)


def _last_round(scheme: SchemeSummary) -> int:
    return scheme.curve.round[-1] if scheme.curve and scheme.curve.round else 0


def _rounds(summary: Summary) -> Iterator[Finding]:
    """Whose round is the shortest, and whose moves the least."""
    decided = {n: s.decision for n, s in summary.schemes.items() if s.decision is not None}
    seconds = {n: d.round_seconds for n, d in decided.items() if d.round_seconds is not None}
    sizes = {n: d.round_bytes for n, d in decided.items() if d.round_bytes is not None}
    if len(seconds) < 2 or len(sizes) < 2:
        return
    quick, light = min(seconds, key=seconds.__getitem__), min(sizes, key=sizes.__getitem__)
    says = f"A round is shortest with {summary.title(quick)} ({show_time(seconds[quick])})"
    if quick == light:
        says += f", which also moves the fewest bytes ({show_size(sizes[light])})"
    else:
        says += f"; {summary.title(light)} moves the fewest bytes ({show_size(sizes[light])})"
    yield Finding(f"{says}.", quick)


def _missed(summary: Summary) -> Iterator[Finding]:
    """Targets that a scheme did not reach from all seeds: the lowest of them."""
    for name, scheme in summary.schemes.items():
        for target in sorted(summary.targets):
            reached = scheme.at(target)
            if reached is None or reached.by_all:
                continue
            many = f"from {reached.reached} of {reached.of} seeds"
            says = many if reached.reached else "from no seed"
            yield Finding(f"{scheme.title} reached {percent(target)} {says}.", name)
            break


def _unfinished(summary: Summary) -> Iterator[str]:
    short = [
        f"{scheme.title} seed {seed} has {done} of {summary.rounds} rounds"
        for scheme in summary.schemes.values()
        if not scheme.complete
        for seed, done in zip(scheme.seeds, scheme.rounds_done, strict=False)
        if done < summary.rounds
    ]
    if short:
        yield f"The comparison is not complete: {listed(short)}."
    elif not all(scheme.complete for scheme in summary.schemes.values()):
        yield "The comparison is not complete."
    if not summary.schemes:
        yield "No scheme has finished a round yet."
