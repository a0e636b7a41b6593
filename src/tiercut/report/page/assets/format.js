// The same words for the same numbers as tiercut.units.

function significant(value, digits) {
  return String(Number(value.toPrecision(digits)));
}

function scaled(value, unit) {
  for (const [prefix, size] of [["P", 1e15], ["T", 1e12], ["G", 1e9], ["M", 1e6], ["k", 1e3]]) {
    if (Math.abs(value) >= size * 0.99995) return `${significant(value / size, 4)} ${prefix}${unit}`;
  }
  return `${significant(value, 4)} ${unit}`;
}

function showSize(bytes) {
  return scaled(bytes, "B");
}

function showTime(seconds) {
  if (seconds < 0.9995) return `${significant(seconds * 1e3, 3)} ms`;
  if (seconds < 120) return `${significant(seconds, 4)} s`;
  const whole = Math.round(seconds);
  const minutes = Math.floor(whole / 60);
  const pad = (number) => String(number).padStart(2, "0");
  if (minutes < 120) return `${minutes} min ${pad(whole % 60)} s`;
  return `${Math.floor(minutes / 60)} h ${pad(minutes % 60)} min`;
}

// On an axis whole hours and minutes go without their zeros.
function showTick(value, show) {
  return value ? show(value).replace(/ 00 (s|min)$/, "") : "0";
}

function showPercent(share, digits = 1) {
  return `${(100 * share).toFixed(digits)}%`;
}
