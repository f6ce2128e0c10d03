// Plots in which a cell is a point with its 95 % intervals: what the trade-off and the roofline share.

/** Cells with both figures: {cell, x, y}. */
function pointsOf(cells, x, y) {
  return cells.map((cell) => ({cell, x: cell.figures[x?.name], y: cell.figures[y?.name]}))
      .filter((point) => Number.isFinite(point.x?.median) && Number.isFinite(point.y?.median));
}

/** All ends of the intervals of some figures. */
function reach(figures) {
  return figures.flatMap(
      (figure) => [figure.low ?? figure.median, figure.median, figure.high ?? figure.median]);
}

function figureLine(cell, metric) {
  const figure = cell.figures[metric.name];
  const interval = intervalText(figure, metric.unit);
  return `${metric.label}: ${written(figure.median, metric.unit)}${interval && ` (${interval})`}`;
}

/** One cell of a plot of points: its cross and its symbol, which says what `lines` say. */
function pointMark(frame, {cell, x, y}, look, plot, lines) {
  const tip = [`#${cell.index}  ${cell.name}`, ...lines].join('\n');
  return [
    cross(frame, x, y, look.colour),
    symbol(look, frame.x.place(x.median), frame.y.place(y.median), 5.5, {
      class: 'mark',
      tabindex: 0,
      role: 'img',
      'aria-label': tip,
      'data-tip': tip,
      'data-plot': plot,
      'data-cell': cell.index
    }),
  ].filter(Boolean);
}

/** The 95 % intervals of a point, as a cross. `x` and `y` are figures; one without an interval has no bar. */
function cross(frame, x, y, colour) {
  const bar = (figure, scale, draw) =>
      Number.isFinite(figure.low) && Number.isFinite(figure.high) && figure.high > figure.low ?
      draw(scale.place(Math.max(figure.low, scale.low)), scale.place(Math.min(figure.high, scale.high))) :
      '';
  const atX = frame.x.place(x.median), atY = frame.y.place(y.median);
  const d = bar(x, frame.x, (low, high) => `M${low.toFixed(2)},${atY.toFixed(2)}H${high.toFixed(2)}`) +
      bar(y, frame.y, (low, high) => `M${atX.toFixed(2)},${low.toFixed(2)}V${high.toFixed(2)}`);
  return d ? svg('path', {class: 'cross', d, stroke: colour}) : null;
}

/** The numbers of cells beside their points. */
function cellNumbers(points, frame) {
  const places = points.map(
      ({cell, x, y}) => ({x: frame.x.place(x.median), y: frame.y.place(y.median), text: `#${cell.index}`}));
  return pointLabels(places, frame.box);
}

/** Numbers beside points: each goes where it covers no point and no other number, or is left out. */
function pointLabels(points, box) {
  const taken = points.map(({x, y}) => ({left: x - 6, right: x + 6, top: y - 6, bottom: y + 6}));
  const labels = [];
  for (const {x, y, text} of points) {
    const width = textWidth(text), place = labelPlaces(x, y, width).find((p) => fits(p, taken, box));
    if (!place) continue;
    taken.push(place);
    labels.push(
        svg('text', {class: 'halo', x: place.left, y: place.bottom - 3, 'aria-hidden': 'true'}, text));
  }
  return labels;
}

function labelPlaces(x, y, width) {
  const at = (left, top) => ({left, right: left + width, top, bottom: top + 14});
  return [
    at(x + 8, y - 16), at(x + 9, y - 7), at(x + 8, y + 3), at(x - 8 - width, y - 16),
    at(x - 9 - width, y - 7), at(x - 8 - width, y + 3), at(x - width / 2, y - 22), at(x - width / 2, y + 8)
  ];
}

function fits(place, taken, box) {
  const inside = place.left > box.left && place.right < box.right + MARGIN.right && place.top > 0 &&
      place.bottom < box.bottom;
  return inside &&
      taken.every(
          (other) => place.right < other.left || place.left > other.right || place.bottom < other.top ||
              place.top > other.bottom);
}
