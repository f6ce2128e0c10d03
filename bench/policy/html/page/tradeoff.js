// Throughput against latency: each cell a point with its 95 % interval as a cross, and the Pareto front.

/** The cells that no other beats in both: latency (lower) and throughput (higher), in the order of latency. */
function paretoFront(points) {
  const ordered = [...points].sort((a, b) => a.x.median - b.x.median || b.y.median - a.y.median);
  let best = -Infinity;
  return ordered.filter((point) => {
    const better = point.y.median > best;
    best = Math.max(best, point.y.median);
    return better;
  });
}

/** The front as a staircase, below and to the right of which all cells are. */
function frontPath(front, frame) {
  const steps = [[frame.x.place(front[0].x.median), frame.box.bottom]];
  for (const {x, y} of front) {
    const at = frame.x.place(x.median);
    steps.push([at, steps.at(-1)[1]], [at, frame.y.place(y.median)]);
  }
  steps.push([frame.box.right, steps.at(-1)[1]]);
  return polyline(steps);
}

function tradeoffPlot(view, width) {
  const {x, y, cells, looks} = view;
  const points = pointsOf(cells, x, y);
  if (!points.length) return emptyState(missingTradeoff(view));
  const frame = plotFrame({
    id: 'plot-tradeoff',
    width,
    height: 400,
    describe: `${y.label} against ${x.label}`,
    x: {
      scale: (a, b) => linearScale(...paddedExtent(reach(points.map((p) => p.x))), a, b),
      label: axisName(x),
      unit: x.unit
    },
    y: {
      scale: (a, b) => linearScale(...paddedExtent(reach(points.map((p) => p.y))), a, b),
      label: `${y.label} throughput`,
      unit: y.unit
    },
  });
  const front = paretoFront(points);
  frame.area.append(
      svg('path',
          {class: 'front', d: frontPath(front, frame), 'data-plot': 'front', 'data-points': front.length}));
  for (const point of points)
    frame.area.append(...pointMark(frame, point, looks.get(point.cell.index), 'tradeoff', [
      figureLine(point.cell, y), figureLine(point.cell, x), front.includes(point) ? 'on the Pareto front' : ''
    ].filter(Boolean)));
  frame.area.append(...cellNumbers(points, frame));
  return frame.root;
}

/** A latency's name in full: "TPOT p50: time per output token". */
function axisName(metric) {
  return LATENCIES[metric.kind] ? `${metric.label}: ${LATENCIES[metric.kind].meaning}` : metric.label;
}

function missingTradeoff({x, y, cells}) {
  if (!cells.length) return 'No cell is selected.';
  if (!y) return 'This workload has no tokens per second.';
  if (!x) return 'This workload has no latencies: it has no answers of two tokens or more.';
  return 'None of the selected cells has both figures.';
}

function tradeoffCard(view, width, change) {
  const latencies = ['tpot', 'ttft'].map((kind) => latencyMetric(view.workload, kind)).filter(Boolean);
  const throughputs = throughputsOf(view.workload);
  return card(
      'tradeoff', 'Throughput against latency',
      'Up and to the left is better. The dotted line is the Pareto front: no other cell beats those on it in both. ' +
          'Crosses are 95 % intervals.',
      [
        latencies.length > 1 &&
            choiceGroup(
                'Latency', 'radio',
                latencies.map(
                    (metric) => ({value: metric.name, label: metric.label, checked: metric === view.x})),
                (name) => change({x: name})),
        throughputs.length > 1 &&
            selectBox(
                'Throughput', throughputs.map((m) => ({value: m.name, label: `${m.label} tok/s`})),
                view.y?.name, (name) => change({y: name}))
      ],
      tradeoffPlot(view, width), true);
}
