// The roofline: operations per byte against operations per second, both logarithmic, under what the machine can.

/** A cell's figures in the plot: {cell, x, y} with x the operations for each byte. */
function rooflinePoints(cells, flops, bytes) {
  return pointsOf(cells, bytes, flops)
      .filter((p) => p.x.median > 0 && p.y.median > 0)
      .map((p) => ({cell: p.cell, x: {median: p.y.median / p.x.median}, y: p.y}));
}

/** The roof between two ends of the x axis. */
function roofPath(frame, {bandwidth, flops}) {
  const ridge = flops / bandwidth;
  const height = (x) => Math.min(flops, bandwidth * x);
  const corners = [frame.x.low, ridge, frame.x.high].filter((x) => x >= frame.x.low && x <= frame.x.high);
  return polyline(corners.map((x) => [frame.x.place(x), frame.y.place(height(x))]));
}

function roofLabels(frame, {bandwidth, flops}) {
  const ridge = frame.x.place(flops / bandwidth);
  return [
    svg('text', {
      class: 'halo',
      x: Math.max(frame.box.left + 8, Math.min(ridge, frame.box.right) - 10),
      y: frame.y.place(flops) - 8,
      'text-anchor': ridge - frame.box.left > 220 ? 'end' : 'start'
    },
        `peak ${written(flops, 'flops_per_second')}`),
    svg('text', {class: 'halo', x: frame.box.right - 6, y: frame.box.bottom - 10, 'text-anchor': 'end'},
        `bandwidth ${written(bandwidth, 'bytes_per_second')}`),
  ];
}

function missingRoofline(cells, flops, bytes, limits) {
  if (!cells.length) return 'No cell is selected.';
  if (!flops || !bytes) return 'This workload has no counts of operations and bytes.';
  if (!(limits.bandwidth > 0 && limits.flops > 0))
    return 'The report does not say what the machine\'s bandwidth and peak are.';
  return 'None of the selected cells has counts of operations and bytes.';
}

function rooflinePlot(view, width) {
  const {cells, looks, workload, limits} = view;
  const flops = metricNamed(workload, 'gflop_s'), bytes = metricNamed(workload, 'gb_s');
  const points = rooflinePoints(cells, flops, bytes);
  if (!points.length || !(limits.bandwidth > 0 && limits.flops > 0))
    return emptyState(missingRoofline(cells, flops, bytes, limits));
  const frame = rooflineFrame(points, limits, width);
  frame.area.append(svg('path', {class: 'roof', d: roofPath(frame, limits), 'data-plot': 'roof'}));
  for (const point of points) {
    const roof = Math.min(limits.flops, limits.bandwidth * point.x.median);
    frame.area.append(...pointMark(frame, point, looks.get(point.cell.index), 'roofline', [
      figureLine(point.cell, flops), figureLine(point.cell, bytes), `${written(point.x.median, 'intensity')}`,
      `${written(point.y.median / roof, 'share')} of the roof`
    ]));
  }
  frame.area.append(...roofLabels(frame, limits), ...cellNumbers(points, frame));
  return frame.root;
}

function rooflineFrame(points, limits, width) {
  const ridge = limits.flops / limits.bandwidth;
  const [left, right] = paddedLogExtent([...points.map((p) => p.x.median), ridge], 2.5);
  const [low, high] = paddedLogExtent([...reach(points.map((p) => p.y)), limits.flops], 2);
  return plotFrame({
    id: 'plot-roofline',
    width,
    height: 400,
    describe: 'FLOP/s against operations per byte, under the machine\'s roof',
    x: {scale: (a, b) => logScale(left, right, a, b), label: 'operations per byte', unit: 'intensity'},
    y: {scale: (a, b) => logScale(low, high, a, b), label: 'operations per second', unit: 'flops_per_second'},
  });
}

function rooflineCard(view, width) {
  return card(
      'roofline', 'Roofline',
      'Under the slope, a cell waits for memory; under the flat part, for arithmetic. The nearer to the line, the less ' +
          'the machine has left to give.',
      [], rooflinePlot(view, width), true);
}
