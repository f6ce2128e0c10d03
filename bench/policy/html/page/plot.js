// The frame of a plot: scales, axes with labels that do not overlap, and marks for the pointer.

const MARGIN = {
  top: 14,
  right: 16,
  bottom: 46
};
const CHARACTER = 7;  // pixels that a tick's label needs beside the axis

/** The space that the labels of a y axis take. */
function leftMargin(scale, unit) {
  return Math.ceil(Math.max(0, ...tickTexts(scale, unit).map(textWidth))) + 16 + 18;
}

/** A plot's frame. `x` and `y` are {scale: (start, end) => scale, label, unit}. `left` is the least space on the left.
 *  Gives {root, area, x, y, box}: an svg element, a group in it for marks, the scales, and where the marks may be. */
function plotFrame({id, width, height, x, y, describe, left: least = 0}) {
  const bottom = height - MARGIN.bottom;
  const yScale = y.scale(bottom, MARGIN.top);
  const left = Math.max(least, leftMargin(yScale, y.unit));
  const xScale = x.scale(left, width - MARGIN.right);
  const root = svg('svg', {
    class: 'plot',
    id,
    width,
    height,
    viewBox: `0 0 ${width} ${height}`,
    role: 'group',
    'aria-label': describe
  });
  root.append(
      ...verticalAxis(yScale, y, left, width - MARGIN.right),
      ...horizontalAxis(xScale, x, MARGIN.top, bottom),
      svg('path', {class: 'frame', d: `M${left},${MARGIN.top}V${bottom}H${width - MARGIN.right}`}));
  const area = svg('g', {class: 'area'});
  root.append(area);
  return {
    root,
    area,
    x: xScale,
    y: yScale,
    box: {left, right: width - MARGIN.right, top: MARGIN.top, bottom}
  };
}

function verticalAxis(scale, {label, unit}, left, right) {
  const parts = [], texts = tickTexts(scale, unit);
  for (const [i, tick] of scale.ticks.entries()) {
    const at = scale.place(tick);
    parts.push(
        svg('path', {class: 'grid', d: `M${left},${at}H${right}`}),
        svg('text', {x: left - 8, y: at + 4, 'text-anchor': 'end', class: 'tick'}, texts[i]));
  }
  const middle = (scale.start + scale.end) / 2;
  parts.push(
      svg('text', {class: 'title', transform: `translate(12,${middle}) rotate(-90)`, 'text-anchor': 'middle'},
          axisTitle(label, unit)));
  return parts;
}

function horizontalAxis(scale, {label, unit}, top, bottom) {
  const parts = [], texts = tickTexts(scale, unit);
  let free = -Infinity;  // to the left of it there are labels already
  for (const [i, tick] of scale.ticks.entries()) {
    const at = scale.place(tick);
    const half = textWidth(texts[i]) / 2;
    parts.push(svg('path', {class: 'grid', d: `M${at},${top}V${bottom}`}));
    if (at - half < free + CHARACTER) continue;
    parts.push(svg('text', {x: at, y: bottom + 18, 'text-anchor': 'middle', class: 'tick'}, texts[i]));
    free = at + half;
  }
  parts.push(
      svg('text', {class: 'title', x: (scale.start + scale.end) / 2, y: bottom + 38, 'text-anchor': 'middle'},
          axisTitle(label, unit)));
  return parts;
}

/** The points of a path, in pixels. */
function polyline(points) {
  return points.map(([x, y], i) => `${i ? 'L' : 'M'}${x.toFixed(2)},${y.toFixed(2)}`).join('');
}

/** Where the pointer is in a plot, in the plot's pixels. */
function pointerPlace(root, event) {
  const box = root.getBoundingClientRect();
  const scale = root.viewBox.baseVal.width / box.width;
  return [(event.clientX - box.left) * scale, (event.clientY - box.top) * scale];
}
