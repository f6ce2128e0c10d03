// The report as the page uses it: cells with names, figures in base units. The schema of the JSON is in report.hpp.

const LATENCIES = {
  ttft: {label: 'TTFT', meaning: 'time to first token'},
  tpot: {label: 'TPOT', meaning: 'time per output token'},
  itl: {label: 'ITL', meaning: 'inter-token latency'},
  e2e: {label: 'E2E', meaning: 'end-to-end latency'},
};

/** Metrics by name, beside latencies and tokens per second: [label, unit, sign, factor]. */
const METRICS = {
  duration_s: ['duration', 'seconds', -1, 1],
  request_s: ['requests', 'requests_per_second', 1, 1],
  goodput_s: ['goodput', 'requests_per_second', 1, 1],
  gb_s: ['bandwidth', 'bytes_per_second', 1, 1e9],
  gflop_s: ['FLOP/s', 'flops_per_second', 1, 1e9],
  mbu: ['MBU', 'share', 1, 1],
  mfu: ['MFU', 'share', 1, 1],
};

/** A metric by its name: {name, kind, label, unit, sign, factor}. `factor` brings its values to the unit; `sign` is 1
 *  where more is better, -1 where less is, 0 where neither is. Names that are not known here are counts. */
function describeMetric(name) {
  const [, first, rest] = name.match(/^([a-z0-9]+)_(.*)$/) ?? [];
  if (first in LATENCIES && rest.endsWith('_ms')) {
    const label = `${LATENCIES[first].label} ${rest.slice(0, -3)}`;
    return {name, kind: first, label, unit: 'seconds', sign: -1, factor: 1e-3};
  }
  if (rest === 'tok_s')
    return {name, kind: 'throughput', label: first, unit: 'tokens_per_second', sign: 1, factor: 1};
  const [label, unit, sign, factor] = METRICS[name] ?? [name.replaceAll('_', ' '), 'count', 0, 1];
  return {name, kind: name, label, unit, sign, factor};
}

/** A metric's figure in its unit; ratios have none. */
function scaledFigure(figure, factor) {
  const scaled = {...figure};
  for (const part of ['median', 'low', 'high'])
    if (Number.isFinite(figure[part])) scaled[part] = figure[part] * factor;
  return scaled;
}

/** The parts of a choice's name between commas that are in no brackets. */
function partsOf(choice) {
  const parts = [''];
  let depth = 0;
  for (const character of choice) {
    depth += character === '<' ? 1 : character === '>' ? -1 : 0;
    if (character === ',' && depth === 0) parts.push('');
    else parts[parts.length - 1] += character;
  }
  return parts.map((part) => part.trim());
}

/** The names of an axis's choices without the parts that all of them share. */
function shortNames(choices) {
  const parts = choices.map(partsOf);
  const shared = (part) => choices.length > 1 && parts.every((others) => others.includes(part));
  return choices.map((choice, i) => parts[i].filter((part) => !shared(part)).join(', ') || choice);
}

/** A cell of the JSON with what the page adds: `figures` by metric name, `labels` of its choices, and its `name`, which is
 *  what differs between cells. */
function prepareCell(cell, axes) {
  const labels = cell.choices.map((choice, i) => axes[i]?.labels[axes[i].choices.indexOf(choice)] ?? choice);
  const varying = labels.filter((_, i) => (axes[i]?.choices.length ?? 2) > 1);
  const figures = {};
  for (const [name, figure] of Object.entries(cell.metrics ?? {}))
    if (figure) figures[name] = scaledFigure(figure, describeMetric(name).factor);
  return {...cell, labels, figures, name: (varying.length ? varying : labels).join(' \u00b7 ') || 'base'};
}

/** A workload with its possible and impossible cells apart, those that did not run to the end again, and the metrics
 *  that any cell has, in the JSON's order. */
function prepareWorkload(workload, report) {
  const cells = (workload.cells ?? []).map((cell) => prepareCell(cell, report.axes));
  const possible = cells.filter((cell) => cell.possible);
  const names = new Set(possible.flatMap((cell) => Object.keys(cell.figures)));
  return {
    ...workload,
    possible,
    impossible: cells.filter((cell) => !cell.possible),
    metrics: [...names].map(describeMetric),
    failed: possible.filter((cell) => cell.error),
    baseline: possible.find((cell) => cell.index === report.baseline),
  };
}

function prepareReport(json) {
  const machine = json.machine ?? {};
  const limits = {bandwidth: machine.bandwidth_gb_s * 1e9, flops: machine.peak_gflop_s * 1e9};
  const axes = (json.axes ?? []).map((axis) => ({...axis, labels: shortNames(axis.choices)}));
  const report = {...json, axes, machine, limits};
  report.workloads = (json.workloads ?? []).map((workload) => prepareWorkload(workload, report));
  return report;
}

/** The median of a latency, or the first of its statistics if there is none; undefined where the latency has none. */
function latencyMetric(workload, kind) {
  const some = workload.metrics.filter((metric) => metric.kind === kind);
  return some.find((metric) => metric.name.includes('p50')) ?? some[0];
}

/** A metric of a workload by its name. */
function metricNamed(workload, name) { return workload.metrics.find((metric) => metric.name === name); }

/** The metrics of tokens per second. */
function throughputsOf(workload) { return workload.metrics.filter((metric) => metric.kind === 'throughput'); }

/** The value in the middle of a cell's figure, NaN where there is none. */
function middle(cell, metric) { return cell.figures[metric?.name]?.median ?? NaN; }

/** A latency of all of a cell's requests, ascending, in seconds. ITL has all gaps of all requests; a TPOT needs two
 *  tokens. */
function samplesOf(cell, kind) {
  cell.samples ??= {};
  cell.samples[kind] ??= Float64Array.from(rawSamples(cell.requests ?? [], kind).filter((v) => v > 0)).sort();
  return cell.samples[kind];
}

function rawSamples(requests, kind) {
  const served = requests.filter((request) => !request.error);
  return kind === 'itl' ? served.flatMap((request) => request.itls ?? []) :
                          served.map((request) => request[kind]);
}

/** The value below which a share of sorted samples lies, with linear interpolation. */
function quantile(sorted, share) {
  const at = share * (sorted.length - 1);
  const below = Math.floor(at);
  const above = Math.min(below + 1, sorted.length - 1);
  return sorted[below] + (at - below) * (sorted[above] - sorted[below]);
}
