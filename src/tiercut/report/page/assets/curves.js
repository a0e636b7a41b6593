// Accuracy against time, bytes or rounds: means with their bands, and values under the pointer.

const MARKS = [
  "M0-4.2A4.2 4.2 0 1 1-.01-4.2Z",
  "M-3.8-3.8H3.8V3.8H-3.8Z",
  "M0-5.2 5.2 0 0 5.2-5.2 0Z",
  "M0-5 5 4H-5Z",
  "M0 5 5-4H-5Z",
  "M-1.6-5H1.6V-1.6H5V1.6H1.6V5H-1.6V1.6H-5V-1.6H-1.6Z",
  "M-5-2.2-2.2-5 0-2.8 2.2-5 5-2.2 2.8 0 5 2.2 2.2 5 0 2.8-2.2 5-5 2.2-2.8 0Z",
  "M-4.8 0-2.4-4.2H2.4L4.8 0 2.4 4.2H-2.4Z",
];
const MOST_MARKS = 30;
const LABEL = { width: 76, height: 14 };

function mark(look, x, y, extra = "") {
  return shape("path", { class: `dot look-${look} ${extra}`, d: MARKS[look], transform: `translate(${x} ${y})` });
}

function startCurves() {
  const all = VALUES.schemes.filter((scheme) => scheme.curve && scheme.curve.round.length);
  if (!all.length) {
    find("curves").replaceWith(element("p", { class: "empty" }, "No round has been trained yet."));
    return;
  }
  const state = { axis: "seconds", hidden: new Set(), cursor: null };
  const redraw = drawnInto(find("curves"), (width) => drawCurves(state, all, width));
  for (const scheme of all) addToggle(state, scheme, redraw);
  for (const input of document.getElementsByName("axis")) {
    input.addEventListener("change", () => {
      state.axis = input.value;
      state.cursor = null;
      redraw();
    });
  }
  listenToCurves(state, all, redraw);
}

function addToggle(state, scheme, redraw) {
  const sample = shape("svg", { width: 26, height: 14, viewBox: "-13 -7 26 14", class: `look-${scheme.look}` });
  sample.append(shape("path", { d: "M-13 0H13", stroke: "var(--mark)", "stroke-width": 2.25 }));
  sample.append(mark(scheme.look, 0, 0));
  const button = element("button", { type: "button", "aria-pressed": "true", "data-scheme": scheme.name }, sample, scheme.title);
  button.addEventListener("click", () => {
    const hide = !state.hidden.has(scheme);
    if (hide) state.hidden.add(scheme);
    else state.hidden.delete(scheme);
    button.setAttribute("aria-pressed", String(!hide));
    redraw();
  });
  find("curves-legend").append(button);
}

function curveFrame(state, schemes, width) {
  const wide = width > 680;
  const longest = Math.max(...schemes.map((scheme) => shortened(scheme.title, 18).length), 0);
  const right = wide ? 20 + 7.2 * longest : 12;
  const height = Math.round(Math.max(300, Math.min(460, width * 0.46)));
  const xs = schemes.flatMap((scheme) => scheme.curve[state.axis]);
  const lows = schemes.flatMap((scheme) => scheme.curve.low);
  const highs = schemes.flatMap((scheme) => scheme.curve.high);
  const most = Math.max(...xs, 1e-12);
  const least = state.axis === "round" ? Math.min(1, most - 1) : 0;
  const bottom = Math.max(0, Math.floor((Math.min(...lows, 1) - 0.005) * 20) / 20);
  const top = Math.min(1, Math.max(bottom + 0.05, Math.ceil((Math.max(...highs, 0) + 0.005) * 20) / 20));
  const box = { left: 48, right: width - right, top: 14, bottom: height - 44 };
  return {
    width, height, wide, box, low: least, high: most, bottom, top,
    x: scale(least, most, box.left, box.right),
    y: scale(bottom, top, box.bottom, box.top),
  };
}

function drawCurves(state, all, width) {
  const schemes = all.filter((scheme) => !state.hidden.has(scheme));
  const frame = curveFrame(state, schemes.length ? schemes : all, width);
  state.frame = frame;
  const svg = picture(width, frame.height, ...curveAxes(state, frame));
  for (const scheme of schemes) svg.append(curveOf(state, scheme, frame));
  svg.append(...targetLines(frame));
  if (frame.wide) svg.append(...endNames(state, schemes, frame));
  if (state.cursor !== null) svg.append(...cursorOf(state, schemes, frame));
  find("curves").replaceChildren(svg);
  find("curves").setAttribute("aria-label", curvesSay(state, schemes));
}

function curveAxes(state, frame) {
  const { box, x, y } = frame;
  const axis = AXES[state.axis];
  const parts = [];
  for (const value of ticks(frame.bottom, frame.top, 7)) {
    parts.push(shape("line", { class: "grid", x1: box.left, x2: box.right, y1: y(value), y2: y(value) }));
    parts.push(shape("text", { class: "muted", x: box.left - 8, y: y(value) + 4, "text-anchor": "end" }, showPercent(value, 0)));
  }
  const most = Math.max(3, Math.floor((box.right - box.left) / 90));
  for (const value of ticks(frame.low, frame.high, most, axis.step)) {
    parts.push(shape("line", { class: "axis", x1: x(value), x2: x(value), y1: box.bottom, y2: box.bottom + 5 }));
    const anchor = x(value) > box.right - 20 && !frame.wide ? "end" : "middle";
    parts.push(shape("text", { class: "muted", x: x(value), y: box.bottom + 19, "text-anchor": anchor }, showTick(value, axis.show)));
  }
  parts.push(shape("line", { class: "axis", x1: box.left, x2: box.right, y1: box.bottom, y2: box.bottom }));
  parts.push(shape("text", { class: "muted", x: (box.left + box.right) / 2, y: frame.height - 6, "text-anchor": "middle" }, axis.title));
  return parts;
}

function targetLines(frame) {
  const { box, y } = frame;
  const parts = [];
  let last = { x: 0, y: Infinity };
  for (const target of VALUES.targets.filter((one) => one > frame.bottom && one < frame.top)) {
    const beside = last.y - y(target) < LABEL.height;
    last = { x: beside ? last.x + LABEL.width : box.left + 6, y: y(target) };
    parts.push(shape("line", { class: "target", x1: box.left, x2: box.right, y1: last.y, y2: last.y }));
    parts.push(shape("text", { class: "muted halo", x: last.x, y: last.y - 5 }, `target ${showPercent(target, 0)}`));
  }
  return parts;
}

function curveOf(state, scheme, { x, y }) {
  const { curve, look } = scheme;
  const xs = curve[state.axis].map(x);
  const way = (values) => values.map((value, i) => `${xs[i].toFixed(1)} ${y(value).toFixed(1)}`);
  const group = shape("g", { class: `look-${look}`, "data-scheme": scheme.name });
  const around = [...way(curve.high), ...way(curve.low).reverse()];
  group.append(shape("path", { class: "band-of", d: `M${around.join("L")}Z` }));
  group.append(shape("path", { class: "line", d: `M${way(curve.mean).join("L")}` }));
  if (xs.length <= MOST_MARKS) curve.mean.forEach((value, i) => group.append(mark(look, xs[i], y(value))));
  return group;
}

// Names at the lines' ends, moved apart where lines end close to each other.
function endNames(state, schemes, { x, y, box }) {
  const ends = schemes.map((scheme) => ({
    scheme,
    x: x(scheme.curve[state.axis].at(-1)),
    y: y(scheme.curve.mean.at(-1)),
    at: y(scheme.curve.mean.at(-1)),
  }));
  ends.sort((a, b) => a.y - b.y);
  for (let i = 1; i < ends.length; i += 1) ends[i].y = Math.max(ends[i].y, ends[i - 1].y + 15);
  const over = ends.length ? Math.max(0, ends.at(-1).y - box.bottom + 4) : 0;
  return ends.flatMap((end) => [
    shape("path", { class: `leader look-${end.scheme.look}`, fill: "none", d: `M${end.x + 8} ${end.at}H${box.right}L${box.right + 9} ${end.y - over}` }),
    shape("text", { class: `name look-${end.scheme.look}`, x: box.right + 12, y: end.y - over + 4 }, shortened(end.scheme.title, 18)),
  ]);
}

function curvesSay(state, schemes) {
  const says = schemes.map((scheme) => {
    const { curve } = scheme;
    return `${scheme.title} ends at ${showPercent(curve.mean.at(-1))} after ${AXES[state.axis].show(curve[state.axis].at(-1))}`;
  });
  const against = state.axis === "round" ? "rounds" : AXES[state.axis].title;
  return `Accuracy against ${against}. ${says.join("; ")}.`;
}

// ------------------------------------------------------------------------------- the cursor

// The last point that a scheme has by then: what it would have, had one stopped there.
function reachedBy(scheme, axis, value) {
  const xs = scheme.curve[axis];
  let found = -1;
  while (found + 1 < xs.length && xs[found + 1] <= value * (1 + 1e-9)) found += 1;
  return found;
}

function cursorOf(state, schemes, { x, y, box }) {
  const parts = [shape("line", { class: "guide", x1: x(state.cursor), x2: x(state.cursor), y1: box.top, y2: box.bottom })];
  for (const scheme of schemes) {
    const i = reachedBy(scheme, state.axis, state.cursor);
    if (i >= 0) parts.push(mark(scheme.look, x(scheme.curve[state.axis][i]), y(scheme.curve.mean[i]), "hot"));
  }
  return parts;
}

function cursorRows(state, schemes) {
  return schemes.map((scheme) => {
    const i = reachedBy(scheme, state.axis, state.cursor);
    if (i < 0) return { scheme, mean: "–", range: "" };
    const { curve } = scheme;
    const range = scheme.seeds > 1 ? `${showPercent(curve.low[i])} to ${showPercent(curve.high[i])}` : "";
    return { scheme, mean: showPercent(curve.mean[i]), range };
  });
}

function cursorTable(state, schemes) {
  const rows = cursorRows(state, schemes).map(({ scheme, mean, range }) =>
    element("tr", { class: `look-${scheme.look}` },
      element("th", {}, element("i", { class: "swatch" }), scheme.title),
      element("td", {}, mean),
      element("td", {}, range)),
  );
  const axis = AXES[state.axis];
  const at = state.axis === "round" ? `after round ${axis.show(state.cursor)}` : `by ${axis.show(state.cursor)}, last finished round`;
  return [element("b", {}, at), element("table", {}, ...rows)];
}

function listenToCurves(state, all, redraw) {
  const chart = find("curves");
  const shown = () => all.filter((scheme) => !state.hidden.has(scheme));
  const leave = () => {
    state.cursor = null;
    hideTip();
    redraw();
  };
  const point = (event) => {
    const { frame } = state;
    const inside = chart.getBoundingClientRect();
    const { left, right } = frame.box;
    const at = Math.max(left, Math.min(right, event.clientX - inside.left));
    const value = frame.low + ((at - left) / (right - left)) * (frame.high - frame.low);
    state.cursor = state.axis === "round" ? Math.round(value) : value;
    redraw();
    showTip(event.clientX, event.clientY, ...cursorTable(state, shown()));
  };
  chart.addEventListener("pointermove", point);
  chart.addEventListener("pointerdown", point);
  chart.addEventListener("pointerleave", leave);
  chart.addEventListener("blur", leave);
  chart.addEventListener("keydown", (event) => {
    if (event.key !== "ArrowRight" && event.key !== "ArrowLeft") return;
    event.preventDefault();
    const stops = [...new Set(shown().flatMap((scheme) => scheme.curve[state.axis]))].sort((a, b) => a - b);
    const ahead = event.key === "ArrowRight" ? stops.find((s) => state.cursor === null || s > state.cursor) : stops.findLast((s) => state.cursor !== null && s < state.cursor);
    if (ahead === undefined) return;
    state.cursor = ahead;
    redraw();
    const box = chart.getBoundingClientRect();
    showTip(box.left + state.frame.x(ahead), box.top + 20, ...cursorTable(state, shown()));
    const says = cursorRows(state, shown()).map(({ scheme, mean, range }) => `${scheme.title} ${mean} ${range}`);
    find("curves-live").textContent = `${AXES[state.axis].show(ahead)}: ${says.join(", ")}`;
  });
}
