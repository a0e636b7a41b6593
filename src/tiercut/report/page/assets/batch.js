// One batch as a timeline that can be zoomed and moved.

const STRIP_TOP = 26;
const STRIP_HEIGHT = 20;
const LANES_TOP = STRIP_TOP + STRIP_HEIGHT + 12;
const LEAST_WIDTH = 1.5;
const MOST_ZOOM = 400;

function startBatch() {
  const schemes = VALUES.schemes.filter((scheme) => VALUES.batches[scheme.name]);
  if (!schemes.length) {
    find("batch-choice").hidden = true;
    document.querySelector("#timeline .bar-of-tools").hidden = true;
    find("batch").replaceWith(element("p", { class: "empty" }, "The timeline could not be drawn; see the notes at the end."));
    return;
  }
  const state = { scheme: null, batch: null, from: 0, to: 1 };
  const redraw = drawnInto(find("batch"), (width) => state.batch && drawBatch(state, width));
  const show = (scheme) => {
    state.scheme = scheme;
    state.batch = VALUES.batches[scheme.name];
    [state.from, state.to] = [0, state.batch.seconds];
    tellBatch(state);
    redraw();
  };
  const first = firstShown(schemes);
  schemeChoice("batch-choice", schemes, first, show);
  listenToBatch(state, redraw);
  show(first);
}

function tellBatch({ scheme, batch }) {
  const hidden = batch.hidden ? ` ${batch.hidden} of ${batch.clients} clients are not drawn.` : "";
  find("batch-says").textContent = `One batch of ${scheme.title} takes ${showTime(batch.seconds)}.${hidden}`;
  const path = batch.events.filter((event) => event.critical && event.to > event.from);
  const says = path.map((event) => `${batch.labels[event.label]} on ${batch.names[event.node]}, ${showTime(event.to - event.from)}`);
  find("batch").setAttribute("aria-label", `${find("batch-says").textContent} Critical path: ${says.join("; ")}.`);
  find("batch-legend").replaceChildren(
    ...batch.looks.map((look) => legendEntry(look.meaning, lookSample(look))),
    legendEntry("critical path", shape("rect", { x: 1, y: 2, width: 20, height: 10, rx: 2, fill: "none", stroke: "currentColor", "stroke-width": 2 })),
  );
}

function legendEntry(meaning, sample) {
  return element("span", {}, shape("svg", { width: 22, height: 14 }, sample), meaning);
}

function lookSample(look) {
  if (look.kind === "send") {
    return shape("path", { d: "M0 7H22", stroke: look.colour, "stroke-width": 2, "stroke-dasharray": look.dashes });
  }
  const thin = look.kind !== "compute";
  return shape("rect", { y: thin ? 4 : 1, width: 22, height: thin ? 6 : 12, rx: 2, fill: look.colour });
}

// ---------------------------------------------------------------------------------- drawing

function drawBatch(state, width) {
  const { batch } = state;
  const left = width < 560 ? 92 : 150;
  const bottom = LANES_TOP + batch.height;
  state.left = left;
  state.width = width;
  const x = scale(state.from, state.to, left, width - 10);
  const frame = { state, batch, x, left, width, bottom };
  const seen = batch.events.filter((event) => event.to >= state.from && event.from <= state.to);
  const layer = (event) => (event.critical ? 2 : 0) + (event.kind === "send" ? 0 : 1);
  seen.sort((a, b) => layer(a) - layer(b));
  const svg = picture(
    width,
    bottom + 28,
    ...laneBands(frame),
    ...batchAxis(frame),
    ...seen.filter((event) => event.critical).map((event) => bar(frame, event, STRIP_TOP, STRIP_HEIGHT)),
    ...seen.map((event) => (event.kind === "send" ? arrow(frame, event) : bar(frame, event, LANES_TOP + event.y, event.height))),
    ...laneNames(frame),
  );
  svg.removeAttribute("aria-hidden");
  find("batch").replaceChildren(svg);
}

function laneBands({ batch, width, bottom }) {
  const bands = batch.lanes.map((lane) =>
    shape("rect", { class: lane.leads ? "lane leads" : "lane", x: 0, y: LANES_TOP + lane.top, width, height: lane.height }),
  );
  const lines = [...batch.lanes.map((lane) => LANES_TOP + lane.top), bottom];
  return [...bands, ...lines.map((y) => shape("line", { class: "grid", x1: 0, x2: width, y1: y, y2: y }))];
}

function batchAxis({ state, x, left, width, bottom }) {
  const most = Math.max(3, Math.floor((width - left) / 100));
  return ticks(state.from, state.to, most, timeStep).flatMap((time) => {
    const anchor = x(time) > width - 30 ? "end" : "middle";
    const says = showTick(time, showTime);
    return [
      shape("line", { class: "grid", x1: x(time), x2: x(time), y1: STRIP_TOP - 4, y2: bottom + 5 }),
      shape("text", { class: "muted", x: x(time), y: bottom + 20, "text-anchor": anchor }, says),
      shape("text", { class: "muted", x: x(time), y: 14, "text-anchor": anchor }, says),
    ];
  });
}

// Names come last and on a ground of their own, so that what is moved to the left goes behind them.
function laneNames({ batch, left, bottom }) {
  const room = Math.floor((left - 16) / 6.6);
  const parts = [
    shape("rect", { class: "cover", x: 0, y: 0, width: left - 2, height: LANES_TOP - 1 }),
    shape("text", { class: "strong", x: 6, y: STRIP_TOP + 14 }, "critical path"),
  ];
  for (const lane of batch.lanes) {
    const y = LANES_TOP + lane.top;
    const middle = y + lane.height / 2;
    parts.push(shape("rect", { class: lane.leads ? "lane leads" : "lane", x: 0, y: y + 0.5, width: left - 2, height: lane.height - 1 }));
    parts.push(shape("text", { class: lane.leads ? "strong" : "", x: 6, y: middle - 1 }, shortened(batch.names[lane.node], room)));
    parts.push(shape("text", { class: "muted", x: 6, y: middle + 12, "font-size": 10 }, shortened(lane.role, room)));
  }
  parts.push(shape("line", { class: "axis", x1: left - 2, x2: left - 2, y1: STRIP_TOP - 4, y2: bottom }));
  return parts;
}

function bar({ batch, x, left, width }, event, top, height) {
  const look = batch.looks[event.look];
  const start = Math.max(x(event.from), left - 2);
  const end = Math.min(x(event.to), width + 2);
  const wide = Math.max(LEAST_WIDTH, end - start);
  const group = shape("g", { "data-tip": tipOf(batch, event) });
  group.append(shape("rect", {
    class: event.critical ? "edge" : "seam",
    "stroke-width": event.critical ? Math.min(2, wide / 5) : null,
    x: start, y: top, width: wide, height, rx: Math.min(2, wide / 2), fill: look.colour,
  }));
  const label = batch.labels[event.label];
  const whose = event.client >= 0 && event.client !== event.node ? `${label} for ${batch.names[event.client]}` : label;
  const text = [whose, label].find((words) => words.length * 6.4 < wide - 8);
  if (text && height > 12) {
    group.append(shape("text", { class: look.text, x: start + wide / 2, y: top + height / 2 + 3.6, "text-anchor": "middle", "font-size": 10.5 }, text));
  }
  return group;
}

// A transmission runs along the lower lane for as long as it takes, and across at one of its ends.
function arrow({ batch, x }, event) {
  const look = batch.looks[event.look];
  const [start, tip] = [x(event.from), x(event.to)];
  const [y, target] = [LANES_TOP + event.y, LANES_TOP + event.target];
  const elbow = Math.min(8, (tip - start) / 2);
  const turn = event.late ? tip - elbow : start + elbow;
  const way = `M${start.toFixed(1)} ${y}H${turn.toFixed(1)}V${target}H${tip.toFixed(1)}`;
  const length = Math.max(3, Math.min(7, tip - start));
  const group = shape("g", { "data-tip": tipOf(batch, event) });
  group.append(
    shape("path", { d: way, fill: "none", stroke: "transparent", "stroke-width": 9 }),
    shape("path", {
      d: way, fill: "none", class: event.critical ? "edge" : null, stroke: event.critical ? null : look.colour,
      "stroke-width": event.critical ? 2.4 : 1.4, "stroke-dasharray": look.dashes, "stroke-linejoin": "round",
    }),
    shape("path", {
      d: `M${tip.toFixed(1)} ${target}l${-length} ${-0.6 * length}v${1.2 * length}z`,
      class: event.critical ? "ink" : null, fill: event.critical ? null : look.colour,
    }),
  );
  return group;
}

function tipOf(batch, event) {
  const where = event.kind === "send" ? `${batch.names[event.node]} to ${batch.names[event.peer]}` : `on ${batch.names[event.node]}`;
  const whose = event.client < 0 ? "everybody" : batch.names[event.client];
  const time = `${showTime(event.from)} to ${showTime(event.to)}: ${showTime(event.to - event.from)}`;
  return [batch.labels[event.label], `for ${whose}, ${where}`, time, ...(event.critical ? ["on the critical path"] : [])].join("\n");
}

// ----------------------------------------------------------------------------- zoom and move

function zoom(state, factor, at = 0.5) {
  const whole = state.batch.seconds;
  const span = Math.min(whole, Math.max(whole / MOST_ZOOM, (state.to - state.from) * factor));
  const fixed = state.from + at * (state.to - state.from);
  moveTo(state, fixed - at * span, span);
}

function moveTo(state, from, span) {
  state.from = Math.max(0, Math.min(from, state.batch.seconds - span));
  state.to = state.from + span;
}

function listenToBatch(state, redraw) {
  const chart = find("batch");
  const change = (work) => () => {
    work();
    redraw();
  };
  const span = () => state.to - state.from;
  const acts = {
    "+": change(() => zoom(state, 0.5)),
    "-": change(() => zoom(state, 2)),
    0: change(() => moveTo(state, 0, state.batch.seconds)),
    ArrowLeft: change(() => moveTo(state, state.from - span() / 8, span())),
    ArrowRight: change(() => moveTo(state, state.from + span() / 8, span())),
  };
  acts["="] = acts["+"];
  find("batch-in").addEventListener("click", acts["+"]);
  find("batch-out").addEventListener("click", acts["-"]);
  find("batch-all").addEventListener("click", acts[0]);
  chart.addEventListener("keydown", (event) => {
    if (!(event.key in acts) || event.ctrlKey || event.metaKey) return;
    event.preventDefault();
    acts[event.key]();
  });
  chart.addEventListener("wheel", (event) => {
    if (!event.ctrlKey && !event.metaKey) return;
    event.preventDefault();
    const at = (event.clientX - chart.getBoundingClientRect().left - state.left) / (state.width - 10 - state.left);
    zoom(state, Math.exp(event.deltaY / 300), Math.max(0, Math.min(1, at)));
    redraw();
  }, { passive: false });
  dragging(chart, state, span, redraw);
}

function dragging(chart, state, span, redraw) {
  let held = null;
  chart.addEventListener("pointerdown", (event) => {
    held = { x: event.clientX, from: state.from };
  });
  chart.addEventListener("pointermove", (event) => {
    if (!held || !(event.buttons & 1) || Math.abs(event.clientX - held.x) < 4) return;
    chart.classList.add("dragged");
    const perPixel = span() / (state.width - 10 - state.left);
    moveTo(state, held.from - (event.clientX - held.x) * perPixel, span());
    redraw();
  });
  addEventListener("pointerup", () => {
    held = null;
    chart.classList.remove("dragged");
  });
}
