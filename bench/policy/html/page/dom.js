// Elements, controls and the tip: what is common to all parts of the page. Text always goes in as text nodes, so that
// no string of a report is read as HTML.

const SVG = 'http://www.w3.org/2000/svg';

function fill(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith('on')) node.addEventListener(name.slice(2), value);
    else if (value === true) node.setAttribute(name, '');
    else if (value !== false && value != null) node.setAttribute(name, value);
  }
  node.append(...children.flat().filter((child) => child != null && child !== false && child !== ''));
  return node;
}

/** An HTML element. Attributes that begin with "on" are listeners; children are nodes or strings. */
function html(tag, attributes = {}, ...children) {
  return fill(document.createElement(tag), attributes, children);
}

/** The same in SVG. */
function svg(tag, attributes = {}, ...children) {
  return fill(document.createElementNS(SVG, tag), attributes, children);
}

/** Replaces what is in a node, and leaves the keyboard's focus on the control with the same data-key. */
function replaceContent(node, ...children) {
  const key = node.contains(document.activeElement) ? document.activeElement.dataset.key : undefined;
  node.replaceChildren(...children);
  if (key !== undefined) node.querySelector(`[data-key="${CSS.escape(key)}"]`)?.focus({preventScroll: true});
}

/** For an element that shows `short`: its tip, where `full` says more. */
function fullText(short, full) { return full === undefined || full === short ? {} : {'data-tip': full}; }

/** A group of radio buttons or checkboxes. `options` are {value, label, tip, checked}. */
function choiceGroup(title, type, options, change) {
  const choice = ({value, label, tip, checked}) => {
    const box = {type, name: title, checked, 'data-key': `${title}:${value}`};
    box.onchange = (event) => change(value, event.target.checked);
    return html(
        'label', {class: 'choice', ...fullText(label, tip)}, html('input', box), html('span', {}, label));
  };
  return html(
      'fieldset', {class: 'control'}, html('legend', {}, title),
      html('div', {class: 'choices'}, options.map(choice)));
}

function selectBox(title, options, selected, change) {
  const list = html(
      'select', {'aria-label': title, 'data-key': title, onchange: (e) => change(e.target.value)},
      options.map(
          ({value, label}) => html('option', {value, selected: String(value) === String(selected)}, label)));
  return html('fieldset', {class: 'control'}, html('legend', {}, title), list);
}

/** A part of the page: a title, a sentence, controls, a body. */
function card(id, title, note, controls, body, half = false) {
  const controlled = controls.filter(Boolean);
  return html(
      'section', {id, class: half ? 'card half' : 'card', 'aria-label': title},
      html(
          'header', {}, html('div', {}, html('h2', {}, title), note && html('p', {class: 'note'}, note)),
          controlled.length ? html('div', {class: 'controls'}, controlled) : null),
      body);
}

/** In a plot's place: what is missing. */
function emptyState(text) { return html('p', {class: 'empty'}, text); }

/** The width of a text in a plot, in pixels. */
const textWidth = (() => {
  const context = document.createElement('canvas').getContext('2d');
  context.font = `12px ${getComputedStyle(document.body).fontFamily}`;
  return (text) => context.measureText(text).width;
})();

/** Shows a text beside a place in the window. */
function showTip(text, x, y) {
  const tip = document.getElementById('tip');
  tip.textContent = text;
  tip.hidden = false;
  const {width, height} = tip.getBoundingClientRect();
  const left = x + 14 + width > innerWidth ? x - 14 - width : x + 14;
  const top = y + 14 + height > innerHeight ? y - 14 - height : y + 14;
  tip.style.left = `${Math.max(8, left)}px`;
  tip.style.top = `${Math.max(8, top)}px`;
}

function hideTip() { document.getElementById('tip').hidden = true; }

/** Elements with data-tip show it when the pointer or the focus is on them. */
function listenForTips() {
  const onElement = (event, place) => {
    const marked = event.target.closest?.('[data-tip]');
    if (marked) showTip(marked.dataset.tip, ...place(marked));
  };
  document.addEventListener('pointerover', (e) => onElement(e, () => [e.clientX, e.clientY]));
  document.addEventListener('focusin', (e) => onElement(e, (marked) => {
                                         const box = marked.getBoundingClientRect();
                                         return [box.right, box.top];
                                       }));
  for (const end of ['pointerout', 'focusout']) document.addEventListener(end, hideTip);
  document.addEventListener('keydown', (e) => e.key === 'Escape' && hideTip());
}
