'use strict';
// Numbers as people read them. Every value on the page is in a base unit (seconds, bytes, a share of 1); these
// functions choose the prefix.

/** Three significant digits without an exponent: 1,234, 123, 12.3, 1.23, 0.0123. */
function digits(value) {
  const size = Math.abs(value);
  if (size >= 1000) return Math.round(value).toLocaleString('en-US');
  if (size === 0) return '0';
  const decimals = Math.max(0, 2 - Math.floor(Math.log10(size) + 1e-9));
  return value.toFixed(Math.min(decimals, 8)).replace(/(\.\d*?)0+$/, '$1').replace(/\.$/, '');
}

/** A value with the first of these [factor, prefix] that leaves 1 or more before the decimal point of `size`. */
function prefixed(value, prefixes, unit, size = value) {
  const enough = Math.abs(size) * (1 + 1e-9);
  const [factor, prefix] = prefixes.find(([factor]) => enough >= factor) ?? prefixes[prefixes.length - 1];
  return size === 0 ? `0 ${unit}` : `${digits(value / factor)} ${prefix}${unit}`;
}

const LARGE = [[1e15, 'P'], [1e12, 'T'], [1e9, 'G'], [1e6, 'M'], [1e3, 'k'], [1, '']];
const SMALL = [[1, ''], [1e-3, 'm'], [1e-6, '\u00b5'], [1e-9, 'n']];

/** How values of a unit are written; with `size`, as values of that size are. An axis has its unit in its title where
 *  its ticks have none. */
const UNITS = {
  seconds: {write: (v, size) => prefixed(v, SMALL, 's', size), axis: ''},
  bytes: {write: (v, size) => prefixed(v, LARGE, 'B', size), axis: ''},
  bytes_per_second: {write: (v, size) => prefixed(v, LARGE, 'B/s', size), axis: ''},
  flops_per_second: {write: (v, size) => prefixed(v, LARGE, 'FLOP/s', size), axis: ''},
  tokens_per_second: {write: (v) => `${digits(v)} tok/s`, tick: (v) => digits(v), axis: 'tok/s'},
  requests_per_second: {write: (v) => `${digits(v)} req/s`, tick: (v) => digits(v), axis: 'req/s'},
  share: {write: (v) => `${digits(100 * v)} %`, axis: ''},
  intensity: {write: (v) => `${digits(v)} FLOP/byte`, tick: (v) => digits(v), axis: 'FLOP/byte'},
  count: {write: (v) => digits(v), axis: ''},
};

/** A value in full; a dash for one that is missing. */
function written(value, unit) { return Number.isFinite(value) ? UNITS[unit].write(value) : '\u2013'; }

/** A value where the unit is said elsewhere. */
function shortText(value, unit) { return (UNITS[unit].tick ?? UNITS[unit].write)(value); }

/** The labels of a scale's ticks: with one prefix for all of them, but each with its own on a logarithmic scale. */
function tickTexts({ticks, high, logarithmic}, unit) {
  const write = UNITS[unit].tick ?? UNITS[unit].write;
  return ticks.map((tick) => write(tick, logarithmic ? tick : high));
}

/** The title of an axis. */
function axisTitle(label, unit) { return UNITS[unit].axis ? `${label} (${UNITS[unit].axis})` : label; }

/** "low to high", or nothing where there is no interval. */
function intervalText(figure, unit) {
  if (!Number.isFinite(figure?.low) || !Number.isFinite(figure?.high)) return '';
  return `${written(figure.low, unit)} to ${written(figure.high, unit)}`;
}

/** A ratio with its interval: "1.32x [1.28, 1.36]". */
function ratioText(figure) {
  if (!Number.isFinite(figure?.ratio)) return '';
  const value = `${figure.ratio.toFixed(2)}\u00d7`;
  if (!Number.isFinite(figure.ratio_low) || !Number.isFinite(figure.ratio_high)) return value;
  return `${value} [${figure.ratio_low.toFixed(2)}, ${figure.ratio_high.toFixed(2)}]`;
}
