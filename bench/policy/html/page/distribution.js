// How the latencies of single requests and tokens are spread: the share of them that is not above a value (an ECDF).

const MOST_POINTS = 240;  // of one line; more cannot be told apart
const HEIGHT_OF_DISTRIBUTION = 300;

/** The ECDF of sorted samples as [value, share], thinned to quantiles where there are many. The ends stay. */
function ecdf(sorted) {
  if (sorted.length <= MOST_POINTS) return Array.from(sorted, (value, i) => [value, (i + 1) / sorted.length]);
  return Array.from({length: MOST_POINTS}, (_, i) => {
    const share = (i + 1) / MOST_POINTS;
    return i === 0 ? [sorted[0], 1 / sorted.length] : [quantile(sorted, share), share];
  });
}

/** The staircase of an ECDF in pixels. */
function ecdfPath(points, frame) {
  const steps = [[frame.x.place(points[0][0]), frame.y.place(0)]];
  for (const [value, share] of points)
    steps.push([frame.x.place(value), steps.at(-1)[1]], [frame.x.place(value), frame.y.place(share)]);
  steps.push([frame.box.right, steps.at(-1)[1]]);
  return polyline(steps);
}

function distributionTip(cell, kind, sorted) {
  const at = (share) => written(quantile(sorted, share), 'seconds');
  const lines = [
    `#${cell.index}  ${cell.name}`,
    `${LATENCIES[kind].label} of ${sorted.length.toLocaleString('en-US')} ${
        kind === 'itl' ? 'gaps' : 'requests'}`,
    `median ${at(0.5)}`, `p90 ${at(0.9)}`, `p99 ${at(0.99)}`
  ];
  return lines.join('\n');
}

/** A cell's line, with a wider one above it, that nobody sees, for the pointer. */
function distributionLine(frame, {cell, sorted}, kind, look) {
  const points = ecdf(sorted);
  const d = ecdfPath(points, frame);
  const tip = distributionTip(cell, kind, sorted);
  return [
    svg('path', {class: 'line', d, stroke: look.colour, 'stroke-dasharray': look.dash}),
    svg('path', {
      d,
      fill: 'none',
      stroke: 'transparent',
      'stroke-width': 9,
      class: 'mark',
      tabindex: 0,
      role: 'img',
      'aria-label': tip,
      'data-tip': tip,
      'data-plot': `ecdf-${kind}`,
      'data-cell': cell.index,
      'data-samples': sorted.length,
      'data-points': points.length
    }),
  ];
}

function missingDistribution(kind, cells) {
  if (!cells.length) return 'No cell is selected.';
  if (!cells.some((cell) => cell.requests?.length))
    return 'There are no requests in this workload\'s report.';
  return kind === 'ttft' ? 'No request has a first token.' : 'No request has two tokens or more.';
}

function distributionPlot(view, kind, width) {
  const series =
      view.cells.map((cell) => ({cell, sorted: samplesOf(cell, kind)})).filter(({sorted}) => sorted.length);
  if (!series.length) return emptyState(missingDistribution(kind, view.cells));
  const ends = series.flatMap(({sorted}) => [sorted[0], sorted.at(-1)]);
  const [low, high] = paddedLogExtent(ends, 1.08);
  const frame = plotFrame({
    id: `plot-ecdf-${kind}`,
    width,
    height: HEIGHT_OF_DISTRIBUTION,
    describe: `distribution of ${LATENCIES[kind].label}`,
    x: {scale: (a, b) => logScale(low, high, a, b), label: LATENCIES[kind].meaning, unit: 'seconds'},
    y: {
      scale: (a, b) => ({...linearScale(0, 1, a, b), ticks: [0, 0.25, 0.5, 0.75, 0.9, 1]}),
      label: kind === 'itl' ? 'share of gaps' : 'share of requests',
      unit: 'share'
    },
  });
  for (const one of series)
    frame.area.append(...distributionLine(frame, one, kind, view.looks.get(one.cell.index)));
  return frame.root;
}

function distributionsCard(view, width) {
  const panel = (kind) =>
      html('div', {}, html('h3', {}, LATENCIES[kind].label), distributionPlot(view, kind, width));
  return card(
      'distributions', 'Distributions of latency',
      'Each line is a cell: the share of its requests (for ITL, of all gaps between tokens) that took no longer, in one ' +
          'round. Further left is better; a long way to the top is a long tail.',
      [], html('div', {class: 'panels'}, ['ttft', 'tpot', 'itl'].map(panel)));
}
