// Scales: from values to pixels, with ticks at round numbers.

/** The round number (1, 2 or 5 times a power of ten) next to a size. */
function roundStep(size) {
  const power = 10 ** Math.floor(Math.log10(size));
  const factor = size / power;
  return power * (factor < 1.5 ? 1 : factor < 3.5 ? 2 : factor < 7.5 ? 5 : 10);
}

/** A linear scale over [low, high], with about `count` ticks. */
function linearScale(low, high, start, end, count = 6) {
  const span = high - low || Math.abs(high) || 1;
  const step = roundStep(span / count);
  const place = (value) => start + ((value - low) / span) * (end - start);
  const ticks = [];
  for (let i = Math.ceil(low / step - 1e-9); i * step <= low + span * (1 + 1e-9); ++i) ticks.push(i * step);
  return {low, high: low + span, start, end, place, ticks};
}

/** A logarithmic scale over [low, high], both above 0: ticks at powers of ten, and at 2 and 5 where there are few. */
function logScale(low, high, start, end) {
  const span = Math.log(high / low) || 1;
  const place = (value) => start + (Math.log(value / low) / span) * (end - start);
  const decades = Math.log10(high / low);
  const factors = decades > 3 ? [1] : decades > 0.9 ? [1, 2, 5] : [1, 1.5, 2, 3, 4, 5, 6, 8];
  const ticks = [];
  for (let power = Math.floor(Math.log10(low)); power <= Math.log10(high); ++power)
    for (const factor of factors) ticks.push(factor * 10 ** power);
  const inside = ticks.filter((tick) => tick >= low * (1 - 1e-9) && tick <= high * (1 + 1e-9));
  return {low, high, start, end, place, ticks: inside, logarithmic: true};
}

/** The extent of some numbers with a margin on each side (a share of it), that leaves out what is not finite. A scale
 *  over values that are spread over more than a decade starts at 0. */
function paddedExtent(values, margin = 0.08) {
  const [low, high] = extent(values);
  const room = margin * (high - low || Math.abs(high) || 1);
  if (low >= 0 && low < 0.1 * high) return [0, high + room];
  return [low >= 0 ? Math.max(0, low - room) : low - room, high + room];
}

/** The same for a logarithmic scale: a factor on each side. */
function paddedLogExtent(values, factor = 1.15) {
  const [low, high] = extent(values.filter((value) => value > 0));
  return [low / factor, high * factor];
}

function extent(values) {
  let low = Infinity, high = -Infinity;
  for (const value of values) {
    if (!Number.isFinite(value)) continue;
    low = Math.min(low, value);
    high = Math.max(high, value);
  }
  return low <= high ? [low, high] : [0, 1];
}
