// The page: what is shown (a workload, some of its cells, some colours), and drawing it again when that changes.

const report = prepareReport(JSON.parse(document.getElementById('report').textContent));

const state = {
  workload: 0,
  excluded: new Set(),  // "axis choice" that a filter leaves out
  hidden: new Set(),    // cells that were taken out by a click on the legend
  colourBy: undefined,  // "cell" or the number of an axis; undefined until somebody chooses
  x: undefined,
  y: undefined,  // names of metrics, of the trade-off
  sort: {key: 'index', descending: false},
  allMetrics: false,
  timelineCell: undefined,
};

function change(what) {
  Object.assign(state, what);
  draw();
}

function toggle(set, value) {
  if (!set.delete(value)) set.add(value);
  draw();
}

const filterKey = (axis, choice) => `${axis} ${choice}`;

function passesFilters(cell) {
  return cell.choices.every((choice, axis) => !state.excluded.has(filterKey(axis, choice)));
}

/** Up to eight cells have a colour each; of more, an axis tells more. */
function colourBy(workload) {
  if (state.colourBy !== undefined) return state.colourBy;
  const first = report.axes.findIndex((axis) => axis.choices.length > 1);
  return workload.possible.length > 8 && first >= 0 ? first : 'cell';
}

/** What the parts of the page are drawn from. */
function makeView() {
  const workload = report.workloads[state.workload];
  const filtered = workload.possible.filter(passesFilters);
  return {
    ...state,
    workload,
    axes: report.axes,
    limits: report.limits,
    filtered,
    cells: filtered.filter((cell) => !state.hidden.has(cell.index)),
    looks: looksOf(workload.possible, report.axes, colourBy(workload)),
    x: metricNamed(workload, state.x) ?? latencyMetric(workload, 'tpot') ?? latencyMetric(workload, 'ttft'),
    y: metricNamed(workload, state.y) ?? metricNamed(workload, 'total_tok_s') ?? throughputsOf(workload)[0],
  };
}

/** A name and a value of the machine or of the report. */
function fact(name, value) { return html('div', {}, html('dt', {}, name), html('dd', {}, value)); }

function machineFacts({processor, threads}, {bandwidth, flops}) {
  return [
    processor && fact('machine', threads ? `${processor}, ${threads} threads` : processor),
    bandwidth > 0 && fact('bandwidth', written(bandwidth, 'bytes_per_second')),
    flops > 0 && fact('peak', written(flops, 'flops_per_second')),
  ];
}

/** Others' load above this disturbs what is measured; quiet_cores in machine.hpp. */
const QUIET_CORES = 0.15;

function busyWarning({others_cores: cores}) {
  if (!(cores > QUIET_CORES)) return null;
  return html(
      'p', {class: 'note warning'},
      `The machine was busy: others used ${
          digits(cores)} cores on average, so absolute figures are too low; ratios suffer less.`);
}

function headline() {
  const cells = report.workloads[0]?.cells.length ?? 0;
  return html(
      'header', {}, html('h1', {}, 'Policy bench'),
      html(
          'dl', {class: 'facts'}, report.model && fact('model', report.model),
          machineFacts(report.machine, report.limits),
          report.date && fact('date', report.date.replace('T', ' ').replace('Z', ' UTC')),
          fact('cells', String(cells)), report.rounds !== undefined && fact('rounds', String(report.rounds)),
          report.seed !== undefined && fact('seed', String(report.seed))),
      busyWarning(report.machine));
}

function controls(view) {
  const workloads =
      report.workloads.map(({name}, i) => ({value: i, label: name, checked: i === state.workload}));
  const axes = report.axes.map((axis, i) => ({...axis, i})).filter((axis) => axis.choices.length > 1);
  const filter = ({slot, choices, labels, i}) => {
    const option = (choice, c) =>
        ({value: choice, label: labels[c], tip: choice, checked: !state.excluded.has(filterKey(i, choice))});
    return choiceGroup(
        slot, 'checkbox', choices.map(option), (choice) => toggle(state.excluded, filterKey(i, choice)));
  };
  const colours = [{value: 'cell', label: 'cell'}, ...axes.map(({slot, i}) => ({value: i, label: slot}))];
  return html(
      'div', {class: 'controls', role: 'group', 'aria-label': 'What is shown'},
      choiceGroup('Workload', 'radio', workloads, (i) => chooseWorkload(i)), axes.map(filter),
      axes.length ? selectBox(
                        'Colour by', colours, colourBy(view.workload),
                        (by) => change({colourBy: by === 'cell' ? by : Number(by)})) :
                    null);
}

/** A workload is in the address, so that a link leads to it. */
function chooseWorkload(i) {
  history.replaceState(null, '', `#workload=${i}`);
  change({workload: i, timelineCell: undefined});
}

function workloadOfAddress() {
  const asked = Number(new URLSearchParams(location.hash.slice(1)).get('workload'));
  return asked > 0 && asked < report.workloads.length ? asked : 0;
}

/** All cells that pass the filters; a click takes one out of the plots and the table, or brings it back. */
function legend(view) {
  const entry = (cell) => html(
      'li', {},
      html(
          'button', {
            type: 'button',
            'data-key': `legend:${cell.index}`,
            'data-legend': cell.index,
            'aria-pressed': String(!state.hidden.has(cell.index)),
            onclick: () => toggle(state.hidden, cell.index)
          },
          lineSwatch(view.looks.get(cell.index)), html('span', {class: 'number'}, `#${cell.index}`),
          cell.name));
  return html('ul', {class: 'legend', 'aria-label': 'Cells that are shown'}, view.filtered.map(entry));
}

/** The widths that plots have in a page so wide: of a whole card, of half a one, of a third. */
function plotWidths() {
  const wide = innerWidth >= 1080;
  const page = document.getElementById('page');
  const style = getComputedStyle(page);
  const inner = page.clientWidth - parseFloat(style.paddingLeft) - parseFloat(style.paddingRight);
  const padding = innerWidth <= 560 ? 26 : 42;
  const whole = Math.max(240, inner - padding);
  return {whole, half: wide ? (inner - 18) / 2 - padding : whole, third: wide ? (whole - 40) / 3 : whole};
}

function draw() {
  const page = document.getElementById('page');
  if (!report.workloads.length)
    return replaceContent(page, headline(), emptyState('This report has no workloads.'));
  const view = makeView(), widths = plotWidths();
  hideTip();
  replaceContent(
      page, headline(), controls(view), legend(view), bests(view),
      html(
          'div', {class: 'cards'}, tableCard(view, change), tradeoffCard(view, widths.half, change),
          rooflineCard(view, widths.half), distributionsCard(view, widths.third),
          timelineCard(view, widths.whole, change)));
}

function start() {
  state.workload = workloadOfAddress();
  draw();
  listenForTips();
  let drawnFor = innerWidth;
  addEventListener('resize', () => {
    if (innerWidth === drawnFor) return;
    drawnFor = innerWidth;
    draw();
  });
  addEventListener('hashchange', () => change({workload: workloadOfAddress(), timelineCell: undefined}));
}

start();
