// What a cell's steps were made of over time: how many requests decoded, ran and waited, and how many tokens of
// prompts were read.

const HEIGHT_OF_PANEL = 210;

/** Steps with their beginnings: where the report does not say, a step began when the one before it ended. */
function timedSteps(timeline) {
  return timeline.map((step, i) => ({...step, start: step.start ?? (i > 0 ? timeline[i - 1].t : 0)}));
}

/** Steps in no more than `most` groups of neighbours, in order. */
function groupSteps(steps, most) {
  const size = Math.max(1, Math.ceil(steps.length / most));
  const groups = [];
  for (let i = 0; i < steps.length; i += size) groups.push(steps.slice(i, i + size));
  return groups;
}

/** A group as one column: means of what steps computed (so that the sum stays), the most of what ran and waited (so
 *  that peaks stay). */
function joinSteps(group) {
  const mean = (part) => group.reduce((sum, step) => sum + step[part], 0) / group.length;
  const most = (part) => Math.max(...group.map((step) => step[part]));
  return {
    start: group[0].start,
    end: group.at(-1).t,
    count: group.length,
    decodes: mean('decodes'),
    prefill_tokens: mean('prefill_tokens'),
    running: most('running'),
    waiting: most('waiting')
  };
}

function thinSteps(timeline, width) {
  return groupSteps(timedSteps(timeline), Math.max(60, Math.floor(width / 2))).map(joinSteps);
}

/** The outline of columns: a height for each, and 0 where there is no step. */
function stepOutline(columns, frame, height) {
  const points = [];
  columns.forEach((column, i) => {
    const left = frame.x.place(column.start), right = frame.x.place(column.end),
          y = frame.y.place(height(column));
    const before = i > 0 ? frame.x.place(columns[i - 1].end) : left;
    if (left - before > 1) points.push([before, frame.y.place(0)], [left, frame.y.place(0)]);
    points.push([left, y], [right, y]);
  });
  return points;
}

function stepArea(columns, frame, part, colour) {
  const outline = stepOutline(columns, frame, (column) => column[part]);
  const closed = [[outline[0][0], frame.y.place(0)], ...outline, [outline.at(-1)[0], frame.y.place(0)]];
  return svg('path', {
    d: `${polyline(closed)}Z`,
    fill: `var(--${colour})`,
    'data-plot': part,
    'data-points': columns.length
  });
}

function panelFrame(id, steps, width, highest, label) {
  return plotFrame({
    id,
    width,
    height: HEIGHT_OF_PANEL,
    describe: `${label} over time; arrow keys go from step to step`,
    left: 64,
    x: {
      scale: (a, b) => linearScale(steps[0].start, steps.at(-1).end, a, b, Math.max(3, width / 110)),
      label: 'time',
      unit: 'seconds'
    },
    y: {scale: (a, b) => linearScale(0, Math.max(1, 1.05 * highest), a, b, 4), label, unit: 'count'},
  });
}

/** The batch of each step: the requests that decoded, below those that ran, and those that waited for a place. */
function batchPanel(steps, width) {
  const highest = Math.max(...steps.map((step) => Math.max(step.decodes, step.running, step.waiting)));
  const frame = panelFrame('plot-batch', steps, width, highest, 'requests');
  const line = (part, dash) => svg('path', {
    class: 'line',
    d: polyline(stepOutline(steps, frame, (step) => step[part])),
    stroke: `var(--${part})`,
    'stroke-dasharray': dash,
    'data-plot': part,
    'data-points': steps.length
  });
  frame.area.append(stepArea(steps, frame, 'decodes', 'decode'), line('running', ''), line('waiting', '6 3'));
  return frame;
}

function prefillPanel(steps, width) {
  const frame = panelFrame(
      'plot-prefill', steps, width, Math.max(...steps.map((step) => step.prefill_tokens)), 'prefill tokens');
  frame.area.append(stepArea(steps, frame, 'prefill_tokens', 'prefill'));
  return frame;
}

function stepTip(step) {
  const lines = [
    `${written(step.start, 'seconds')} to ${written(step.end, 'seconds')}${
        step.count > 1 ? `, ${step.count} steps` : ''}`,
    `decodes: ${digits(step.decodes)}${step.count > 1 ? ' a step' : ''}`,
    `prefill tokens: ${digits(step.prefill_tokens)}${step.count > 1 ? ' a step' : ''}`,
    `running: ${step.running}`, `waiting: ${step.waiting}`
  ];
  return lines.join('\n');
}

/** The pointer, or the arrow keys, move a line over both panels, and a tip says what the step there was. */
function followSteps(frames, steps) {
  const cursors = frames.map((frame) => frame.area.appendChild(svg('path', {class: 'cursor'})));
  let at = 0;
  const show = (i, x, y) => {
    at = Math.min(steps.length - 1, Math.max(0, i));
    frames.forEach(
        (frame, f) => cursors[f].setAttribute(
            'd', `M${frame.x.place(steps[at].start)},${frame.box.top}V${frame.box.bottom}`));
    showTip(stepTip(steps[at]), x, y);
  };
  for (const frame of frames) {
    fill(
        frame.root, {
          tabindex: 0,
          onpointermove: (e) =>
              show(stepAt(frame, steps, pointerPlace(frame.root, e)[0]), e.clientX, e.clientY),
          onpointerleave: hideTip,
          onkeydown: (e) => {
            const by = {ArrowLeft: -1, ArrowRight: 1, PageUp: -20, PageDown: 20}[e.key];
            if (by === undefined) return;
            e.preventDefault();
            const box = frame.root.getBoundingClientRect();
            const next = Math.min(steps.length - 1, Math.max(0, at + by));
            show(
                next,
                box.left + frame.x.place(steps[next].start) * box.width / frame.root.viewBox.baseVal.width,
                box.top + 20);
          },
        },
        []);
  }
}

/** The step that a place on the x axis belongs to. */
function stepAt(frame, steps, x) {
  const after = steps.findIndex((step) => frame.x.place(step.start) > x);
  return after < 0 ? steps.length - 1 : Math.max(0, after - 1);
}

function timelineBody(cell, width) {
  if (!cell) return emptyState('No cell is selected.');
  if (!cell.timeline?.length)
    return emptyState('There is no timeline of this cell in this workload\'s report.');
  const steps = thinSteps(cell.timeline, width);
  const frames = [batchPanel(steps, width), prefillPanel(steps, width)];
  followSteps(frames, steps);
  return html(
      'div', {'data-steps': cell.timeline.length},
      html('div', {}, ['decodes', 'running', 'waiting'].map(timelineKey)), frames[0].root,
      html('div', {}, timelineKey('prefill tokens')), frames[1].root,
      steps[0].count > 1 && html('p', {class: 'note'}, thinningNote(cell.timeline.length, steps[0].count)));
}

function thinningNote(steps, group) {
  return `${steps.toLocaleString('en-US')} steps, ${
             group} to a column: decodes and prefill tokens are their means, ` +
      'running and waiting the most.';
}

function timelineKey(name) {
  return html('span', {class: 'key'}, html('i', {class: `of-${name.split(' ')[0]}`}), name);
}

function timelineCard(view, width, change) {
  const cells = view.cells;
  const cell =
      cells.find((c) => c.index === view.timelineCell) ?? cells.find((c) => c.timeline?.length) ?? cells[0];
  return card(
      'timeline', 'Timeline',
      'What the steps of one cell were made of, in one round: a decode is a token of a running request; prefill tokens ' +
          'are prompts being read.',
      [cells.length > 1 &&
       selectBox(
           'Cell', cells.map((c) => ({value: c.index, label: `#${c.index}  ${c.name}`})), cell.index,
           (index) => change({timelineCell: Number(index)}))],
      timelineBody(cell, width));
}
