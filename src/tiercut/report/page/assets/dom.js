"use strict";

// Elements are made one by one and text is set as text: nothing here ever parses markup.

const VALUES = JSON.parse(document.getElementById("values").textContent);

function find(id) {
  return document.getElementById(id);
}

function shape(name, attributes = {}, ...children) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", name);
  return filled(made, attributes, children);
}

function element(name, attributes = {}, ...children) {
  return filled(document.createElement(name), attributes, children);
}

function filled(made, attributes, children) {
  for (const [key, value] of Object.entries(attributes)) {
    if (value !== null && value !== undefined && value !== false) made.setAttribute(key, value);
  }
  made.append(...children.filter((child) => child !== null));
  return made;
}

function picture(width, height, ...children) {
  return shape("svg", { viewBox: `0 0 ${width} ${height}`, "aria-hidden": "true" }, ...children);
}

// Draws now, and again whenever the box gets another width.
function drawnInto(box, draw) {
  let width = 0;
  const fit = () => {
    const now = Math.round(box.clientWidth);
    if (now > 0 && now !== width) draw((width = now));
  };
  new ResizeObserver(fit).observe(box);
  fit();
  return () => draw(width || box.clientWidth);
}

// A row of radio buttons, one per scheme that there is something to show of.
function schemeChoice(id, schemes, chosen, onChange) {
  for (const scheme of schemes) {
    const input = element("input", { type: "radio", name: id, value: scheme.name });
    input.checked = scheme === chosen;
    input.addEventListener("change", () => onChange(scheme));
    find(id).append(element("label", {}, input, element("span", {}, scheme.title)));
  }
}

// What is shown until somebody chooses: the scheme that the gains are about.
function firstShown(schemes) {
  return schemes.find((scheme) => scheme.name === VALUES.lead) || schemes[0];
}

function shortened(text, most) {
  return text.length > most ? `${text.slice(0, most - 1)}…` : text;
}
