// Rounds on real devices: what was predicted as a broken line, what was measured as a whole one.

const SIDES = ["predicted", "measured"];

function startReal() {
  const { real } = VALUES;
  if (!real) return;
  const state = { one: real.series[0], cursor: null };
  const redraw = drawnInto(find("real-chart"), (width) => drawReal(state, real, width));
  schemeChoice("real-choice", real.series, state.one, (one) => {
    state.one = one;
    state.cursor = null;
    redraw();
  });
  listenToReal(state, real, redraw);
}

function showReal(one) {
  return one.unit === "seconds" ? showTime : showSize;
}

function drawReal(state, real, width) {
  const { one } = state;
  const height = Math.round(Math.max(240, Math.min(340, width * 0.36)));
  const box = { left: 66, right: width - 14, top: 14, bottom: height - 44 };
  const most = Math.max(...one.predicted, ...one.measured) || 1;
  const [first, last] = [real.round[0], real.round.at(-1)];
  const x = scale(first, last, box.left, box.right);
  const y = scale(0, most * 1.05, box.bottom, box.top);
  state.frame = { box, x, y, first, last };
  const svg = picture(width, height, ...realAxes(state, most, height));
  for (const side of SIDES) svg.append(...realLine(real, one[side], side, state.frame));
  if (state.cursor !== null) {
    const at = x(real.round[state.cursor]);
    svg.append(shape("line", { class: "guide", x1: at, x2: at, y1: box.top, y2: box.bottom }));
  }
  find("real-chart").replaceChildren(svg);
  find("real-chart").setAttribute("aria-label", `Predicted and measured, ${one.title}, by round.`);
}

function realAxes({ one, frame: { box, x, y, first, last } }, most, height) {
  const step = one.unit === "seconds" ? timeStep : decimalStep;
  const parts = ticks(0, most * 1.05, 5, step).flatMap((value) => [
    shape("line", { class: "grid", x1: box.left, x2: box.right, y1: y(value), y2: y(value) }),
    shape("text", { class: "muted", x: box.left - 8, y: y(value) + 4, "text-anchor": "end" }, showTick(value, showReal(one))),
  ]);
  const wanted = Math.max(3, Math.floor((box.right - box.left) / 90));
  for (const value of ticks(first, last, wanted, roundStep)) {
    parts.push(shape("line", { class: "axis", x1: x(value), x2: x(value), y1: box.bottom, y2: box.bottom + 5 }));
    parts.push(shape("text", { class: "muted", x: x(value), y: box.bottom + 19, "text-anchor": "middle" }, value));
  }
  parts.push(shape("line", { class: "axis", x1: box.left, x2: box.right, y1: box.bottom, y2: box.bottom }));
  parts.push(shape("text", { class: "muted", x: (box.left + box.right) / 2, y: height - 6, "text-anchor": "middle" }, "round"));
  return parts;
}

function realLine(real, values, side, { x, y }) {
  const way = values.map((value, i) => `${x(real.round[i]).toFixed(1)} ${y(value).toFixed(1)}`);
  const line = shape("path", { class: `line real-${side}`, d: `M${way.join("L")}` });
  if (values.length > MOST_MARKS) return [line];
  return [line, ...values.map((value, i) => shape("circle", { class: `dot real-${side}`, cx: x(real.round[i]), cy: y(value), r: 3.6 }))];
}

// ------------------------------------------------------------------------------- the cursor

function realSays({ one, cursor }, real) {
  const show = showReal(one);
  const says = SIDES.map((side) => `${side} ${show(one[side][cursor])}`);
  if (one.predicted[cursor]) says.push(`${showPercent(one.measured[cursor] / one.predicted[cursor], 0)} of what was predicted`);
  if (real.lost[cursor]) says.push(`clients that failed: ${real.lost[cursor]}`);
  if (real.attempts[cursor] > 1) says.push(`attempts: ${real.attempts[cursor]}`);
  return [`round ${real.round[cursor]}, ${one.title}`, ...says];
}

function listenToReal(state, real, redraw) {
  const chart = find("real-chart");
  const leave = () => {
    state.cursor = null;
    hideTip();
    redraw();
  };
  const stopAt = (i, x, y) => {
    state.cursor = i;
    redraw();
    showTip(x, y, ...tipLines(realSays(state, real).join("\n")));
  };
  const point = (event) => {
    const at = event.clientX - chart.getBoundingClientRect().left;
    const away = real.round.map((round) => Math.abs(state.frame.x(round) - at));
    stopAt(away.indexOf(Math.min(...away)), event.clientX, event.clientY);
  };
  chart.addEventListener("pointermove", point);
  chart.addEventListener("pointerdown", point);
  chart.addEventListener("pointerleave", leave);
  chart.addEventListener("blur", leave);
  chart.addEventListener("keydown", (event) => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!step) return;
    event.preventDefault();
    const i = state.cursor === null ? 0 : Math.max(0, Math.min(real.round.length - 1, state.cursor + step));
    const box = chart.getBoundingClientRect();
    stopAt(i, box.left + state.frame.x(real.round[i]), box.top + 20);
    find("real-live").textContent = realSays(state, real).join(", ");
  });
}
