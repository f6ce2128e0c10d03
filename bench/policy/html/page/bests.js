// The best cells of each kind, before all details.

/** How many other cells a best one cannot be told apart from: their intervals overlap its own. */
function undecided(best, cells, metric) {
  const own = best.figures[metric.name];
  return cells
      .filter((cell) => {
        const other = cell.figures[metric.name];
        return cell !== best && other && Number.isFinite(own.low) && other.low <= own.high &&
            other.high >= own.low;
      })
      .length;
}

function bestOf(view, what, metric) {
  const cells = view.cells.filter((cell) => Number.isFinite(middle(cell, metric)));
  if (cells.length < 2) return null;
  const best = cells.reduce((a, b) => (metric.sign * (middle(b, metric) - middle(a, metric)) > 0 ? b : a));
  const figure = best.figures[metric.name];
  const others = undecided(best, cells, metric);
  const ratio = best !== view.workload.baseline && ratioText(figure);
  return bestTile(what, written(figure.median, metric.unit), `#${best.index}  ${best.name}`, [
    ratio && `${ratio} of the baseline`,
    others ? `not told apart from ${others === 1 ? 'one other' : `${others} others`}` : ''
  ].filter(Boolean).join('; '));
}

function leastMemory(view) {
  const cells = view.cells.filter((cell) => cell.memory > 0);
  if (cells.length < 2) return null;
  const best = cells.reduce((a, b) => (b.memory < a.memory ? b : a));
  const others = cells.filter((cell) => cell.memory === best.memory).length - 1;
  return bestTile(
      'Least memory', written(best.memory, 'bytes'), `#${best.index}  ${best.name}`,
      others ? `the same in ${others === 1 ? 'one other' : `${others} others`}` : '');
}

function bestTile(what, value, who, doubt) {
  return html(
      'div', {class: 'best'}, html('div', {class: 'what'}, what), html('div', {class: 'value'}, value),
      html('div', {class: 'who'}, who), doubt && html('div', {class: 'doubt'}, doubt));
}

function bests(view) {
  const tiles = [
    ['Most tokens per second', metricNamed(view.workload, 'total_tok_s')],
    ['Quickest first token', latencyMetric(view.workload, 'ttft')],
    ['Quickest tokens after it', latencyMetric(view.workload, 'tpot')],
  ].map(([what, metric]) => metric && bestOf(view, what, metric));
  return html('div', {class: 'bests'}, [...tiles, leastMemory(view)]);
}
