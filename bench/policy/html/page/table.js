// The table of all cells: figures with their ratios to the baseline, costs, and which cells have none.

/** Metrics that are in the table from the start; a box shows the others. */
const MAIN_METRICS = new Set([
  'prefill_tok_s', 'decode_tok_s', 'total_tok_s', 'goodput_s', 'ttft_p50_ms', 'ttft_p99_ms', 'tpot_p50_ms',
  'itl_p99_ms', 'mbu', 'mfu'
]);

/** Columns: {key, title, note, text, sign, value, show}. `text` is for columns that begin on the left, `sign` as
 *  for metrics; `value` gives what to sort a cell by, `show` what to write. */
function tableColumns(view) {
  const known = (column) => view.workload.possible.some((cell) => column.value(cell) !== undefined);
  return [
    {
      key: 'index',
      title: 'cell',
      text: true,
      value: (cell) => cell.index,
      show: (cell) => cellName(cell, view)
    },
    ...view.axes.map(axisColumn).filter((_, i) => view.axes[i].choices.length > 1),
    ...[sameColumn(view)].filter(known),
    ...view.workload.metrics.filter((metric) => view.allMetrics || MAIN_METRICS.has(metric.name))
        .map((metric) => metricColumn(metric, view)),
    ...costColumns().filter(known),
    ...qualityColumns(view.workload.possible),
  ];
}

function cellName(cell, {looks, workload}) {
  return [
    swatch(looks.get(cell.index)), ` #${cell.index}`,
    cell === workload.baseline && html('span', {class: 'tag'}, 'baseline')
  ];
}

function axisColumn(axis, i) {
  return {
    key: `axis-${i}`,
    title: axis.slot,
    text: true,
    value: (cell) => cell.labels[i],
    show: (cell) =>
        html('span', {class: 'choice-name', ...fullText(cell.labels[i], cell.choices[i])}, cell.labels[i])
  };
}

function metricColumn(metric, view) {
  return {
    key: metric.name,
    title: metric.label,
    note: UNITS[metric.unit].axis,
    sign: metric.sign,
    value: (cell) => cell.figures[metric.name]?.median,
    show: (cell) => figureCell(cell.figures[metric.name], metric, cell === view.workload.baseline),
  };
}

/** A figure, and below it its ratio to the baseline, coloured and with an arrow if the interval leaves out 1. */
function figureCell(figure, metric, isBaseline) {
  if (!figure) return '\u2013';
  const interval = intervalText(figure, metric.unit);
  const value = html(
      'span', interval ? {'data-tip': `95 % interval: ${interval}`} : {},
      shortText(figure.median, metric.unit));
  if (isBaseline || !Number.isFinite(figure.ratio)) return value;
  const verdict = ratioVerdict(figure, metric.sign);
  return [value, html('small', {class: verdict.class}, `${verdict.arrow}${ratioText(figure)}`)];
}

function ratioVerdict({ratio_low: low, ratio_high: high}, sign) {
  const above = low > 1, below = high < 1;
  if (!above && !below) return {class: '', arrow: ''};
  const better = sign !== 0 && (above ? 1 : -1) === sign;
  return {class: sign === 0 ? '' : better ? 'up' : 'down', arrow: above ? '\u25b2 ' : '\u25bc '};
}

function sameColumn(view) {
  return {
    key: 'same',
    title: 'output',
    text: true,
    value: (cell) => (typeof cell.same === 'boolean' ? Number(cell.same) : undefined),
    show: (cell) => (cell === view.workload.baseline ? '\u2013' : sameText(cell.same)),
  };
}

function sameText(same) {
  if (typeof same !== 'boolean') return '\u2013';
  return same ? html('span', {class: 'up'}, '\u2713 same') : html('span', {class: 'down'}, '\u2260 other');
}

function costColumns() {
  const column = (key, title, unit) => ({
    key,
    title,
    sign: -1,
    value: (cell) => cell[key] ?? undefined,
    show: (cell) => written(cell[key] ?? NaN, unit)
  });
  return [
    column('memory', 'memory', 'bytes'), column('compile_seconds', 'compile', 'seconds'),
    column('object_bytes', 'object', 'bytes')
  ];
}

/** What is known of quality; of perplexity and divergence less is better, of agreement more. */
function qualityColumns(cells) {
  const names = new Set(cells.flatMap(
      (cell) => Object.keys(cell.quality ?? {}).filter((name) => Number.isFinite(cell.quality[name]))));
  return [...names].map((name) => {
    const agreement = /agree|top1/.test(name);
    return {
      key: `quality-${name}`,
      title: name.replaceAll('_', ' '),
      sign: agreement ? 1 : -1,
      value: (cell) => cell.quality?.[name] ?? undefined,
      show: (cell) => written(cell.quality?.[name] ?? NaN, agreement ? 'share' : 'count')
    };
  });
}

/** Cells in the order of a column; those without a value last. */
function sortedCells(cells, column, descending) {
  const compare = (a, b) => (typeof a === 'string' ? a.localeCompare(b, 'en', {numeric: true}) : a - b);
  const missing = (value) => value === undefined || Number.isNaN(value);
  return [...cells].sort((one, other) => {
    const a = column.value(one), b = column.value(other);
    if (missing(a) || missing(b)) return missing(a) - missing(b);
    return (descending ? -1 : 1) * compare(a, b) || one.index - other.index;
  });
}

function headerCell(column, sort, change) {
  const current = sort.key === column.key;
  const first = column.sign === 1;  // where more is better, the most comes first
  const click = () => change({sort: {key: column.key, descending: current ? !sort.descending : first}});
  return html(
      'th', {
        scope: 'col',
        class: column.text ? 'text' : '',
        'aria-sort': current ? (sort.descending ? 'descending' : 'ascending') : null
      },
      html(
          'button', {type: 'button', 'data-key': `sort:${column.key}`, onclick: click}, column.title,
          current && (sort.descending ? ' \u2193' : ' \u2191'),
          column.note && html('small', {}, column.note)));
}

/** The best value of a column among cells, if there are several different ones. */
function bestValue(cells, {value, sign}) {
  const values = cells.map(value).filter(Number.isFinite);
  if (!sign || new Set(values).size < 2) return undefined;
  return sign === 1 ? Math.max(...values) : Math.min(...values);
}

function tableOf(view, change) {
  const columns = tableColumns(view);
  const column = columns.find(({key}) => key === view.sort.key) ?? columns[0];
  const best = new Map(columns.map((c) => [c.key, bestValue(view.cells, c)]));
  const field = (cell, c) => {
    const isBest = best.get(c.key) !== undefined && c.value(cell) === best.get(c.key);
    const classes = [c.text && 'text', isBest && 'best-of'].filter(Boolean);
    return html('td', {'data-column': c.key, class: classes.join(' ')}, c.show(cell));
  };
  const row = (cell) => html(
      'tr', {'data-cell': cell.index, class: cell === view.workload.baseline ? 'baseline' : ''},
      columns.map((c) => field(cell, c)));
  return html(
      'div', {class: 'scroll', tabindex: 0, role: 'region', 'aria-label': 'All cells; scrolls sideways'},
      html(
          'table', {},
          html('thead', {}, html('tr', {}, columns.map((c) => headerCell(c, view.sort, change)))),
          html('tbody', {}, sortedCells(view.cells, column, view.sort.descending).map(row))));
}

/** Cells without figures, with the sentence that says why. */
function cellsWithout({impossible, failed}) {
  if (!impossible.length && !failed.length) return null;
  const entry = (attribute, cell, text) =>
      html('li', {[attribute]: cell.index}, `#${cell.index} ${cell.name}`, html('span', {}, text));
  return html(
      'ul', {class: 'impossible', 'aria-label': 'Cells without figures'},
      failed.map((cell) => entry('data-failed', cell, `did not run to the end: ${cell.error}`)),
      impossible.map((cell) => entry('data-impossible', cell, `cannot be built: ${cell.why_not}`)));
}

function tableCard(view, change) {
  const more = choiceGroup(
      'Columns', 'checkbox', [{value: 'all', label: 'all metrics', checked: view.allMetrics}],
      (_, checked) => change({allMetrics: checked}));
  const ratios = view.workload.baseline ?
      ' Below a figure is its ratio to the baseline, with a 95 % interval; an arrow marks an interval without 1.' :
      '';
  const body = view.cells.length ? tableOf(view, change) : emptyState('No cell is selected.');
  return card(
      'cells', 'Cells', `Click a column to sort by it.${ratios}`, [more],
      html('div', {}, body, cellsWithout(view.workload)));
}
