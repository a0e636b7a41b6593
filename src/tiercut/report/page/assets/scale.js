// Where things are along an axis, and where it has its marks.

function scale(low, high, from, to) {
  const span = high - low || 1;
  return (value) => from + ((value - low) / span) * (to - from);
}

const CLOCK_STEPS = [15, 20, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 21600, 43200, 86400];

function decimalStep(least) {
  const unit = 10 ** Math.floor(Math.log10(least));
  return unit * [1, 2, 5, 10].find((times) => unit * times >= least * (1 - 1e-9));
}

function timeStep(least) {
  if (least <= 10) return decimalStep(least);
  return CLOCK_STEPS.find((step) => step >= least) || 86400 * Math.ceil(least / 86400);
}

function ticks(low, high, most, stepFor = decimalStep) {
  if (!(high > low)) return [low];
  const step = stepFor((high - low) / most);
  const found = [];
  for (let i = Math.ceil(low / step - 1e-9); i * step <= high + step * 1e-9; i += 1) {
    found.push(i * step);
  }
  return found;
}

function roundStep(least) {
  return Math.max(1, decimalStep(least));
}

const AXES = {
  seconds: { title: "virtual time", show: showTime, step: timeStep },
  bytes: { title: "bytes over all links", show: showSize, step: decimalStep },
  round: { title: "round", show: (value) => String(Math.round(value)), step: roundStep },
};
