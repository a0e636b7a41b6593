// Who serves whom. The same client keeps its node, so that another scheme moves it to its new place.

const SLOW = [0xcf, 0xe6, 0xf5];
const FAST = [0x00, 0x72, 0xb2];
const LEAST_REACH = 190;
const MOST_READABLE = 330;

function startGraph() {
  const schemes = VALUES.schemes.filter((scheme) => VALUES.graphs[scheme.name]);
  if (!schemes.length) {
    find("graph-choice").hidden = true;
    find("graph").replaceWith(element("p", { class: "empty" }, "The fleet could not be drawn; see the notes at the end."));
    return;
  }
  const first = firstShown(schemes);
  const reach = Math.max(LEAST_REACH, ...schemes.map((scheme) => VALUES.graphs[scheme.name].reach));
  const far = reach > MOST_READABLE;
  const svg = shape("svg", { class: far ? "far" : "", viewBox: `${-reach} ${-reach} ${2 * reach} ${2 * reach}`, role: "group" });
  const back = shape("g");
  const nodes = new Map();
  svg.append(back);
  find("graph").append(svg);
  const show = (scheme) => showGraph(VALUES.graphs[scheme.name], scheme, svg, back, nodes);
  schemeChoice("graph-choice", schemes, first, show);
  show(first);
}

function showGraph(graph, scheme, svg, back, nodes) {
  find("graph-says").textContent = `${scheme.title}: ${graph.says}.`;
  svg.setAttribute("aria-label", `${scheme.title}: ${graph.says}`);
  const links = graph.nodes.map((node, n) => linkOf(graph, node, n));
  back.replaceChildren(
    ...graph.hulls.map(([x, y, r]) => shape("circle", { class: "hull", cx: x, cy: y, r })),
    ...links,
    ...serverNode(graph, svg.classList.contains("far")),
  );
  const names = new Set(graph.nodes.map((node) => node.name));
  for (const [name, made] of nodes) {
    if (!names.has(name)) {
      made.remove();
      nodes.delete(name);
    }
  }
  const shared = commonStart(graph.nodes.map((node) => node.name));
  graph.nodes.forEach((node, n) => {
    let made = nodes.get(node.name);
    if (!made) {
      made = shape("g", { class: "node", tabindex: n === 0 ? 0 : -1 });
      made.addEventListener("keydown", (event) => walk(event, made));
      nodes.set(node.name, made);
      svg.append(made);
    }
    const mine = () => highlight(graph, n, links, nodes);
    made.onpointerenter = mine;
    made.onfocus = mine;
    made.onpointerleave = made.onblur = () => highlight(graph, null, links, nodes);
    dress(made, node, svg.classList.contains("far") ? null : node.name.slice(shared));
    made.style.transform = `translate(${node.x}px, ${node.y}px)`;
  });
}

function linkOf(graph, node, n) {
  const end = node.by === n ? { x: 0, y: 0 } : graph.nodes[node.by];
  return shape("line", { class: "link", x1: node.x, y1: node.y, x2: end.x, y2: end.y });
}

// From far away there is room for larger letters and fewer words.
function serverNode(graph, far) {
  const box = shape("rect", { class: "server", x: -52, y: -24, width: 104, height: 48, rx: 9, "data-tip": `server\n${graph.server}` });
  const name = shape("text", { class: "server-text", y: far ? 6 : -3, "text-anchor": "middle", "font-weight": 650 }, "server");
  return far ? [box, name] : [box, name, shape("text", { class: "server-text", y: 13, "text-anchor": "middle" }, graph.server)];
}

function dress(made, node, short) {
  const radius = 9 + 7 * node.speed;
  const colour = SLOW.map((slow, i) => Math.round(slow + node.speed * (FAST[i] - slow)));
  const what = node.hosts ? `${node.name}, aggregator of ${node.hosts}` : node.name;
  made.dataset.tip = [what, ...node.tip].join("\n");
  made.setAttribute("role", "img");
  made.setAttribute("aria-label", [what, ...node.tip].join(", "));
  made.replaceChildren(
    node.hosts ? shape("circle", { class: "ring", r: radius + 3.5 }) : "",
    shape("circle", { class: "disc", r: radius, fill: `rgb(${colour})` }),
    short !== null && short.length <= 3
      ? shape("text", { class: node.speed > 0.6 ? "on-dark" : "on-light", y: 4, "text-anchor": "middle" }, short)
      : "",
  );
}

function highlight(graph, chosen, links, nodes) {
  graph.nodes.forEach((node, n) => {
    const group = chosen === null ? null : graph.nodes[chosen].by;
    const mine = chosen !== null && (n === chosen || node.by === chosen || n === group);
    nodes.get(node.name).classList.toggle("dim", chosen !== null && !mine);
    links[n].classList.toggle("mine", chosen !== null && (n === chosen || node.by === chosen || n === group));
  });
}

// One node is in the tab order; the arrow keys lead to the others.
function walk(event, made) {
  const steps = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 };
  if (!(event.key in steps)) return;
  event.preventDefault();
  const all = [...made.parentNode.querySelectorAll(".node")];
  const next = all[(all.indexOf(made) + steps[event.key] + all.length) % all.length];
  made.setAttribute("tabindex", -1);
  next.setAttribute("tabindex", 0);
  next.focus();
}

// How much of their start all names share, up to the end of a word.
function commonStart(names) {
  if (names.length < 2) return 0;
  let same = 0;
  while (names.every((name) => same < name.length && name[same] === names[0][same])) same += 1;
  const word = names[0].slice(0, same).match(/^.*[\W_]/s);
  return word ? word[0].length : 0;
}
