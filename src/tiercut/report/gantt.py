"""One batch as a timeline, after the paper's Fig. 3: who computes and sends what, when.

Every node has a lane: the server on top, then each aggregator followed by its clients. Rectangles
are computations, arrows are transmissions. What sets the batch's length is outlined where it
happens, and repeated from end to end in a strip above the lanes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from tiercut.cost.placement import Placement
from tiercut.cost.timeline import SERVER, Event, Timeline
from tiercut.fleet import Fleet
from tiercut.report.lanes import Lane, Row, choose_nodes, home, is_drawn, lay_out, row_key
from tiercut.report.looks import BUSY_LOOKS, MARGIN, WIDTH, legend, look_of
from tiercut.report.svg import BOLD, Markup, document, fit, tag, text_width, together, words
from tiercut.report.ticks import show_tick, time_ticks
from tiercut.units import show_throughput, show_time

STRIP = Row(70.0, 20.0)
"""Where the critical path is repeated."""
LANES_TOP = STRIP.top + STRIP.height + 10
MOST_LABEL_WIDTH = 190.0
AXIS_HEIGHT = 34.0
LEAST_WIDTH = 1.5
"""A rectangle narrower than this, in pixels, could not be seen."""
ELBOW = 8.0
"""How far from one of its ends an arrow turns, in pixels."""


def draw_timeline(
    timeline: Timeline, fleet: Fleet, placement: Placement, *, title: str, most_lanes: int = 12
) -> str:
    """An SVG picture of one batch, with a lane for the server and at most `most_lanes` clients.

    Clients without a lane are left out with all that is done for them, and counted in a line.
    """
    positions = timeline.critical_path()
    path = [timeline.events[i] for i in positions]
    nodes = choose_nodes(path, placement, most_lanes)
    on_path = set(positions)
    drawn = [
        Drawn(event, i in on_path)
        for i, event in enumerate(timeline.events)
        if is_drawn(event, nodes)
    ]
    lanes = lay_out([event for event, _ in drawn], nodes, LANES_TOP)
    return _Picture(fleet, placement, nodes, lanes, timeline.end).draw(title, path, drawn)


class Drawn(NamedTuple):
    """An event of the picture, and whether it is on the critical path."""

    event: Event
    critical: bool


@dataclass(frozen=True, eq=False)
class _Picture:
    """Everything that the parts of one picture have in common."""

    fleet: Fleet
    placement: Placement
    nodes: list[int]
    lanes: dict[int, Lane]
    end: float

    def draw(self, title: str, path: Sequence[Event], drawn: Sequence[Drawn]) -> str:
        """The whole picture; what is on the critical path comes last, on top of the rest."""
        key, end = legend([event for event, _ in drawn], self.bottom + AXIS_HEIGHT + 12)
        return document(
            WIDTH,
            end + MARGIN / 2,
            self._heading(title),
            *self._bands(),
            *self._axis(),
            *(self._strip(event) for event in path if event.end > event.start),
            *(self._shape(*one) for one in _in_layers(drawn)),
            key,
            label=title,
        )

    # ------------------------------------------------------------------------------- positions

    @cached_property
    def left(self) -> float:
        """Where time 0 is: right of the widest label."""
        lines = (line for node in self.nodes for line in (self.name(node), self.role(node)))
        widest = max(text_width(line, 12 * BOLD) for line in lines)
        return MARGIN + min(MOST_LABEL_WIDTH, max(90.0, widest + 12))

    @property
    def bottom(self) -> float:
        """Where the last lane ends."""
        last = self.lanes[self.nodes[-1]]
        return last.top + last.height

    def x(self, time: float) -> float:
        """Where a moment is."""
        return self.left + (WIDTH - MARGIN - self.left) * (time / self.end if self.end else 0.0)

    def leads(self, node: int) -> bool:
        """Whether a node is the server or runs an aggregator's layers, for itself at least."""
        if node == SERVER:
            return True
        layers = self.placement
        between = layers.aggregator_layers[node] < layers.cut_layers[node]
        return bool(between and layers.is_aggregator[node])

    # ------------------------------------------------------------------------------------ words

    def name(self, node: int) -> str:
        """What a node is called."""
        return "server" if node == SERVER else self.fleet.names[node]

    def role(self, node: int) -> str:
        """The second line of a lane's label."""
        if node == SERVER:
            return show_throughput(self.fleet.server_throughput)
        if not self.leads(node):
            return show_throughput(float(self.fleet.throughput[node]))
        models = int(self.placement.hosted[node])
        shown = sum(1 for n in self.nodes[1:] if self.placement.aggregator_of[n] == node)
        hosts = "hosts 1 model" if models == 1 else f"hosts {models} models"
        return hosts if shown == models else f"{hosts}, {shown} drawn"

    def tooltip(self, event: Event) -> Markup:
        """What a reader who points at an event is told."""
        where = f"on {self.name(event.node)}"
        if event.kind == "send":
            where = f"{self.name(event.node)} to {self.name(event.peer)}"
        whose = "everybody" if event.client == SERVER else self.name(event.client)
        return tag(
            "title",
            f"{event.label}, for {whose}, {where}: {show_time(event.start)} to"
            f" {show_time(event.end)} ({show_time(event.end - event.start)})",
        )

    # ------------------------------------------------------------------------------------ parts

    def _heading(self, title: str) -> Markup:
        hidden = len(self.fleet) + 1 - len(self.nodes)
        says = f"One batch takes {show_time(self.end)}."
        if hidden:
            verb = "is" if hidden == 1 else "are"
            says += f" {hidden} of {len(self.fleet)} clients {verb} not drawn."
        return together(
            [
                words(MARGIN, 28, fit(title, WIDTH - 2 * MARGIN, 17 * BOLD), size=17, weight=600),
                words(MARGIN, 50, says, size=12, look="muted"),
            ]
        )

    def _bands(self) -> Iterator[Markup]:
        """The lanes' backgrounds and labels; the server and aggregators stand out."""
        room = self.left - MARGIN - 6
        yield words(MARGIN, STRIP.middle + 4, "critical path", size=12, weight=600)
        for node, lane in self.lanes.items():
            leads = self.leads(node)
            yield tag(
                "rect",
                class_="band" if leads else "paper",
                x=MARGIN / 2,
                y=lane.top,
                width=WIDTH - MARGIN,
                height=lane.height,
            )
            yield _line(MARGIN / 2, lane.top, WIDTH - MARGIN / 2, lane.top)
            indent = 0.0 if leads or self.placement.is_aggregator[node] else 10.0
            middle = lane.top + lane.height / 2
            name = fit(self.name(node), room - indent, 12 * BOLD if leads else 12)
            role = fit(self.role(node), room - indent, 10)
            yield words(MARGIN + indent, middle - 2, name, size=12, weight=600 if leads else None)
            yield words(MARGIN + indent, middle + 11, role, size=10, look="muted")

    def _axis(self) -> Iterator[Markup]:
        yield _line(MARGIN / 2, self.bottom, WIDTH - MARGIN / 2, self.bottom)
        for time in time_ticks(0.0, self.end):
            x = self.x(time)
            label = show_tick(time)
            anchor = "end" if x + text_width(label, 11) / 2 > WIDTH else "middle"
            yield _line(x, STRIP.top - 4, x, self.bottom + 5)
            yield words(x, self.bottom + 19, label, look="muted", anchor=anchor)

    def _shape(self, event: Event, critical: bool) -> Markup:
        draw = self._arrow if event.kind == "send" else self._task
        return draw(event, critical)

    def _strip(self, event: Event) -> Markup:
        who = f"{self.name(event.node)}: {event.label}"
        return self._bar(event, STRIP, (who, event.label), critical=True)

    def _task(self, event: Event, critical: bool) -> Markup:
        row = self.lanes[event.node].rows[row_key(event)]
        if event.kind in BUSY_LOOKS:
            return self._bar(event, row, (), critical=critical)
        for_other = event.client not in (SERVER, event.node)
        full = f"{event.label} for {self.name(event.client)}" if for_other else event.label
        return self._bar(event, row, (full, event.label), critical=critical)

    def _bar(self, event: Event, row: Row, texts: Sequence[str], *, critical: bool) -> Markup:
        """A rectangle as long as the event, with the first of `texts` that fits inside."""
        look = look_of(event)
        x = self.x(event.start)
        width = max(LEAST_WIDTH, self.x(event.end) - x)
        shape = tag(
            "rect",
            class_="edge critical" if critical else "seam",
            stroke_width=min(2.2 if critical else 0.8, width / 5),  # a border, not a blot
            x=x,
            y=row.top,
            width=width,
            height=row.height,
            rx=min(2.0, width / 2),
            fill=look.colour,
        )
        text = next((text for text in texts if text_width(text, 10) <= width - 6), "")
        middle = x + width / 2
        inside = words(middle, row.middle + 3.6, text, size=10, look=look.text, anchor="middle")
        return tag("g", self.tooltip(event), shape, *([inside] if text else []))

    def _arrow(self, event: Event, critical: bool) -> Markup:
        """A transmission: along the lower lane for as long as it takes, and across at its end."""
        look = look_of(event)
        x, tip = self.x(event.start), self.x(event.end)
        y, target = (self.lanes[n].row(event.client).middle for n in (event.node, event.peer))
        elbow = min(ELBOW, (tip - x) / 2)
        turn = tip - elbow if home(event, self.nodes) == event.node else x + elbow
        way = f"M{x:.1f} {y:.1f}H{turn:.1f}V{target:.1f}H{tip:.1f}"
        line = tag(
            "path",
            d=way,
            fill="none",
            class_="edge critical" if critical else None,
            stroke=None if critical else look.colour,
            stroke_width=2.6 if critical else 1.4,
            stroke_dasharray=look.dashes,
            stroke_linejoin="round",
        )
        length = max(3.0, min(7.0, tip - x))
        wing = 0.6 * length
        head = tag(
            "path",
            d=f"M{tip:.1f} {target:.1f}l{-length:.1f} {-wing:.1f}v{2 * wing:.1f}z",
            class_="ink" if critical else None,
            fill=None if critical else look.colour,
        )
        # A line this thin is hard to point at: an invisible thick one catches the pointer.
        catch = tag("path", d=way, fill="none", stroke="transparent", stroke_width=9)
        return tag("g", self.tooltip(event), catch, line, head)


def _in_layers(drawn: Sequence[Drawn]) -> list[Drawn]:
    """What is drawn later covers what came before: arrows, tasks, then the critical ones."""
    return sorted(drawn, key=lambda one: (one.critical, one.event.kind != "send"))


def _line(x: float, y: float, to_x: float, to_y: float) -> Markup:
    return tag("line", class_="rule", x1=x, y1=y, x2=to_x, y2=to_y)
