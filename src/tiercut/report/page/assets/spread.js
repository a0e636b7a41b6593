// Who has what: a column per client, a row per label, and above it how many examples each has.

const MOST_NAMED_LABELS = 30;

function startSpread() {
  if (VALUES.spread) drawnInto(find("spread"), drawSpread);
}

function drawSpread(width) {
  const { clients, classes } = VALUES.spread;
  const left = Math.min(110, 14 + 7 * Math.max(...classes.map((name) => name.length)));
  const cell = (width - left - 4) / clients.length;
  const row = classes.length > MOST_NAMED_LABELS ? 8 : 20;
  const sizes = 40;
  const numbered = cell >= 30 && row === 20;
  const bottom = sizes + 8 + row * classes.length;
  const largest = Math.max(...clients.map((client) => client.examples), 1);
  const most = Math.max(...clients.flatMap((client) => client.labels), 1);
  const gap = cell > 6 ? 1 : 0;
  const parts = [shape("rect", { class: "back", x: left, y: sizes + 8, width: width - left - 4, height: bottom - sizes - 8 })];
  clients.forEach((client, n) => {
    const x = left + n * cell;
    const height = Math.max(1, (sizes * client.examples) / largest);
    parts.push(shape("rect", {
      class: "cell", x, y: sizes - height, width: cell - gap, height, opacity: 0.55,
      "data-tip": `${client.name}\n${client.examples} examples`,
    }));
    client.labels.forEach((count, label) => {
      const box = { x, y: sizes + 8 + label * row, width: cell - gap, height: row - gap };
      parts.push(shape("rect", {
        class: "cell", ...box, opacity: (count / most).toFixed(3),
        "data-tip": `${client.name}\nlabel ${classes[label]}: ${count} of ${client.examples}`,
      }));
      if (numbered) {
        const over = count / most > 0.7 ? "number over" : "number";
        parts.push(shape("text", { class: over, x: x + cell / 2, y: box.y + 14, "text-anchor": "middle" }, count));
      }
    });
  });
  if (classes.length <= MOST_NAMED_LABELS) {
    classes.forEach((name, label) =>
      parts.push(shape("text", { class: "muted", x: left - 8, y: sizes + 8 + (label + 0.5) * row + 4, "text-anchor": "end" }, shortened(name, 14))),
    );
  }
  parts.push(shape("text", { class: "muted", x: left - 8, y: sizes - 2, "text-anchor": "end" }, "all"));
  const svg = picture(width, bottom + 4, ...parts);
  svg.removeAttribute("aria-hidden");
  svg.setAttribute("role", "img");
  svg.setAttribute("aria-label", `Examples of each label at each of ${clients.length} clients`);
  find("spread").replaceChildren(svg);
}
