// Colours and shapes that tell cells apart. The colours are those of Okabe and Ito, which colour-blind people can tell
// apart, without black and with a darker yellow; shapes and dashes repeat what colours say.

const COLOURS = ['#0072b2', '#e69f00', '#009e73', '#cc79a7', '#56b4e9', '#d55e00', '#a49a00'];
const SHAPES = {
  circle: (r) => `M${- r},0a${r},${r} 0 1,0 ${2 * r},0a${r},${r} 0 1,0 ${- 2 * r},0Z`,
  square: (r) => `M${- r},${- r}h${2 * r}v${2 * r}h${- 2 * r}Z`,
  triangle: (r) => `M0,${- 1.25 * r}L${1.2 * r},${r}H${- 1.2 * r}Z`,
  diamond: (r) => `M0,${- 1.35 * r}L${1.35 * r},0L0,${1.35 * r}L${- 1.35 * r},0Z`,
  inverted: (r) => `M0,${1.25 * r}L${1.2 * r},${- r}H${- 1.2 * r}Z`,
};
const DASHES = ['', '7 3', '2 3', '9 3 2 3', '14 4'];

/** A look: a colour by one number, a shape and a dash by another. */
function lookOf(first, second, hollow) {
  const shapes = Object.keys(SHAPES);
  return {
    colour: COLOURS[first % COLOURS.length],
    shape: shapes[second % shapes.length],
    dash: DASHES[second % DASHES.length],
    hollow
  };
}

/** The look of each cell, by its index. Coloured by cell, each has its own look (up to 70 of them); by an axis, its
 *  choice there decides the colour, on the next axis with several the shape, on the one after it whether it is filled. */
function looksOf(cells, axes, colourBy) {
  const looks = new Map();
  if (colourBy === 'cell') {
    cells.forEach((cell, i) => looks.set(cell.index, lookOf(i, i % 5, i >= 35)));
    return looks;
  }
  const others = axes.map((_, i) => (colourBy + 1 + i) % axes.length);
  const [shapeBy, fillBy] = others.filter((axis) => axis !== colourBy && axes[axis].choices.length > 1);
  const choiceOn = (cell, axis) =>
      (axis === undefined ? 0 : Math.max(0, axes[axis].choices.indexOf(cell.choices[axis])));
  for (const cell of cells)
    looks.set(
        cell.index,
        lookOf(choiceOn(cell, colourBy), choiceOn(cell, shapeBy), choiceOn(cell, fillBy) % 2 === 1));
  return looks;
}

/** The symbol of a look around a place, as an SVG path. */
function symbol(look, x, y, radius, attributes = {}) {
  return svg('path', {
    d: SHAPES[look.shape](radius),
    transform: `translate(${x.toFixed(2)},${y.toFixed(2)})`,
    fill: look.hollow ? 'var(--card)' : look.colour,
    stroke: look.colour,
    'stroke-width': 1.5,
    ...attributes,
  });
}

/** The symbol on its own, for the table. */
function swatch(look) {
  return svg(
      'svg', {class: 'swatch', width: 16, height: 16, viewBox: '-8 -8 16 16', 'aria-hidden': 'true'},
      symbol(look, 0, 0, 4.5));
}

/** The symbol on its line, for the legend. */
function lineSwatch(look) {
  return svg(
      'svg', {class: 'swatch', width: 36, height: 16, viewBox: '-18 -8 36 16', 'aria-hidden': 'true'},
      svg('path', {d: 'M-18,0H18', stroke: look.colour, 'stroke-width': 1.75, 'stroke-dasharray': look.dash}),
      symbol(look, 0, 0, 4.5));
}
