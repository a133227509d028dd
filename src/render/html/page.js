'use strict';
// Filters, links between the map and the findings, addresses of both, and copying. The page is whole without it.
const rows = [...document.querySelectorAll('[data-finding]')];
const groups = [...document.querySelectorAll('[data-group]')];
const search = document.getElementById('search');
const shown = document.getElementById('shown');
const picked = document.getElementById('picked');
// The words of the page's language, with values in braces.
const words = document.querySelector('main').dataset;
const fill = (text, values) => text.replace(/\{(\w+)\}/g, (_, name) => values[name]);
const texts = new Map();
// What was clicked on the map; `null` where nothing was.
let ids = null;
const textOf = row => {
  if (!texts.has(row)) texts.set(row, `${row.textContent} ${row.dataset.ids} ${row.closest('[data-group]').dataset.group}`.toLowerCase());
  return texts.get(row);
};
const checked = name => new Set([...document.querySelectorAll(`input[name=${name}]:checked`)].map(box => box.value));

function filter() {
  const wanted = search.value.toLowerCase().split('|').map(word => word.trim()).filter(Boolean);
  const severities = checked('severity');
  const fixes = checked('fix');
  const statuses = document.querySelector('input[name=status]') ? checked('status') : null;
  let number = 0;
  for (const row of rows) {
    const fits = severities.has(row.dataset.severity) && fixes.has(row.dataset.fix)
      && (!statuses || statuses.has(row.dataset.status))
      && (!ids || row.dataset.ids.split(' ').some(id => ids.has(id)))
      && (wanted.length === 0 || wanted.some(word => textOf(row).includes(word)));
    if (row.hidden === fits) row.hidden = !fits;
    if (fits) number += 1;
  }
  for (const group of groups) {
    const fitting = group.querySelectorAll('[data-finding]:not([hidden])').length;
    group.hidden = fitting === 0;
    if ((ids || wanted.length > 0) && fitting > 0 && number <= 200) group.open = true;
  }
  picked.hidden = !ids;
  if (ids) picked.textContent = `${[...ids].slice(0, 2).join(', ')}${ids.size > 2 ? fill(words.more, { number: ids.size - 2 }) : ''} \u2715`;
  shown.textContent = fill(number === rows.length ? words.allShown : words.someShown, { number, total: rows.length });
}

// The filters stand in the address, so that a link shows the same findings. A file has no query, but every page has a fragment.
const filters = ['severity', 'fix', 'status'];
function write() {
  const address = new URLSearchParams();
  if (search.value) address.set('q', search.value);
  for (const name of filters) {
    const boxes = [...document.querySelectorAll(`input[name=${name}]`)];
    if (boxes.some(box => !box.checked)) address.set(name, [...checked(name)].join(','));
  }
  if (ids) address.set('ids', [...ids].join(' '));
  history.replaceState(null, '', `#${address}`);
}
function refilter() { filter(); write(); }

// A link to a finding opens it; any other address holds filters.
function read() {
  const address = location.hash.slice(1);
  for (const old of document.querySelectorAll('.linked')) old.classList.remove('linked');
  if (/^[fg]-/.test(address)) {
    const row = document.getElementById(address);
    if (!row || !('finding' in row.dataset || 'group' in row.dataset)) return;
    row.hidden = false;
    for (let part = row; part; part = part.parentElement) if (part.tagName === 'DETAILS') { part.open = true; part.hidden = false; }
    row.classList.add('linked');
    row.scrollIntoView({ block: 'center' });
    return;
  }
  if (!search || !address) return;
  const wanted = new URLSearchParams(address);
  search.value = wanted.get('q') ?? '';
  for (const name of filters) {
    const only = wanted.has(name) ? new Set(wanted.get(name).split(',')) : null;
    for (const box of document.querySelectorAll(`input[name=${name}]`)) box.checked = !only || only.has(box.value);
  }
  ids = wanted.get('ids') ? new Set(wanted.get('ids').split(' ')) : null;
  filter();
}

if (search) {
  let waiting;
  search.addEventListener('input', () => { clearTimeout(waiting); waiting = setTimeout(refilter, 120); });
  for (const box of document.querySelectorAll('.tools input[type=checkbox]')) box.addEventListener('change', refilter);
  picked.addEventListener('click', () => { ids = null; refilter(); });
  document.querySelector('.tools').hidden = false;
  filter();
}
for (const part of document.querySelectorAll('[data-find]')) {
  const go = () => {
    if (!search) return;
    ids = new Set(part.dataset.find.split(' '));
    refilter();
    document.getElementById('findings').scrollIntoView();
  };
  part.addEventListener('click', go);
  part.addEventListener('keydown', event => {
    if (event.key !== 'Enter' && event.key !== ' ') return;
    event.preventDefault();
    go();
  });
}
// From a finding to its place on the map.
const places = new Map();
for (const part of document.querySelectorAll('.nodes [data-find], .map [data-find]')) {
  for (const id of part.dataset.find.split(' ')) if (!places.has(id)) places.set(id, part);
}
for (const row of places.size > 0 ? rows : []) {
  const offer = () => {
    const place = row.dataset.ids.split(' ').map(id => places.get(id)).find(Boolean);
    const body = row.querySelector('.body');
    if (!place || !body || body.querySelector('.place')) return;
    const button = document.createElement('button');
    button.className = 'place';
    button.textContent = words.onMap;
    button.addEventListener('click', () => {
      for (const old of document.querySelectorAll('.found')) old.classList.remove('found');
      for (let part = place; part; part = part.parentElement) if (part.tagName === 'DETAILS') part.open = true;
      place.classList.add('found');
      place.scrollIntoView({ block: 'center', inline: 'center' });
      place.focus({ preventScroll: true });
    });
    body.append(button);
  };
  // Browsers differ in whether a row that is open from the start is toggled before this script listens.
  if (row.open) offer();
  row.addEventListener('toggle', offer);
}
for (const part of document.querySelectorAll('[data-groups]')) {
  const svg = part.closest('svg');
  const own = new Set(part.dataset.groups.split(' '));
  const edges = [...svg.querySelectorAll('.edge')].filter(edge => part.dataset.node
    ? edge.dataset.node === part.dataset.node : own.has(edge.dataset.group));
  const focus = on => {
    svg.classList.toggle('focus', on && edges.length > 0);
    for (const edge of edges) edge.classList.toggle('on', on);
  };
  part.addEventListener('mouseenter', () => focus(true));
  part.addEventListener('mouseleave', () => focus(false));
}
// Colours of the drawings: by tag, by role, or by the worst finding.
const legend = document.querySelector('.legend');
if (legend && document.querySelector('.map')) {
  const label = document.createElement('label');
  const select = document.createElement('select');
  for (const [value, text] of [['', words.byTag], ['roles', words.byRole], ['findings', words.byFinding]]) select.add(new Option(text, value));
  select.addEventListener('change', () => {
    legend.hidden = select.value !== '';
    for (const map of document.querySelectorAll('.map')) {
      if (select.value) map.dataset.show = select.value;
      else delete map.dataset.show;
    }
  });
  label.className = 'map-show';
  label.append(`${words.colours} `, select);
  legend.before(label);
}
// Sizes of a drawing, and the drawing as a file, with the styles that the page gives it.
for (const map of document.querySelectorAll('.map')) {
  const svg = map.querySelector('svg');
  const width = svg.viewBox.baseVal.width;
  const height = svg.viewBox.baseVal.height;
  const tools = document.createElement('div');
  tools.className = 'map-tools';
  let scale = 1;
  const resize = to => {
    scale = Math.min(4, Math.max(0.1, to));
    svg.setAttribute('width', Math.round(width * scale));
    svg.setAttribute('height', Math.round(height * scale));
  };
  const button = (sign, name, act) => {
    const one = document.createElement('button');
    one.type = 'button';
    one.textContent = sign;
    one.title = name;
    // A sign has no name of its own.
    if (sign.length === 1) one.setAttribute('aria-label', name);
    one.addEventListener('click', act);
    tools.append(one);
  };
  button('+', words.larger, () => resize(scale * 1.25));
  button('\u2212', words.smaller, () => resize(scale / 1.25));
  button('\u2194', words.fit, () => resize(map.clientWidth / width));
  button('SVG \u2913', words.download, () => {
    const link = document.createElement('a');
    link.href = URL.createObjectURL(new Blob([standalone(svg, width, height)], { type: 'image/svg+xml' }));
    link.download = `${svg.dataset.name}.svg`;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 1000);
  });
  map.before(tools);
}
// The computed styles are written into a copy: a file has no style sheet, and no colours of a theme.
function standalone(svg, width, height) {
  const copy = svg.cloneNode(true);
  const kept = ['fill', 'stroke', 'stroke-width', 'stroke-dasharray', 'font-family', 'font-size', 'font-weight', 'text-anchor', 'opacity'];
  const parts = [...copy.querySelectorAll('*')];
  for (const [index, part] of [...svg.querySelectorAll('*')].entries()) {
    const style = getComputedStyle(part);
    parts[index].setAttribute('style', kept.map(name => `${name}:${style.getPropertyValue(name)}`).join(';'));
    for (const name of ['tabindex', 'role', 'data-find', 'data-node', 'data-group', 'data-groups', 'data-roles']) parts[index].removeAttribute(name);
  }
  const paper = document.createElementNS('http://www.w3.org/2000/svg', 'rect');
  paper.setAttribute('width', '100%');
  paper.setAttribute('height', '100%');
  paper.setAttribute('fill', getComputedStyle(document.body).backgroundColor);
  copy.prepend(paper);
  copy.setAttribute('width', width);
  copy.setAttribute('height', height);
  copy.setAttribute('xmlns', 'http://www.w3.org/2000/svg');
  return new XMLSerializer().serializeToString(copy);
}
// Tables are sorted by a column: numbers with the largest first, texts from A on, and then the other way round.
for (const table of document.querySelectorAll('table.sortable')) {
  const body = table.tBodies[0];
  const first = [...body.rows];
  for (const [column, head] of [...table.tHead.rows[0].cells].entries()) {
    const button = document.createElement('button');
    button.textContent = head.textContent;
    head.replaceChildren(button);
    button.addEventListener('click', () => {
      const value = row => row.cells[column].textContent.trim();
      const isNumber = first.every(row => /^\d*( of \d+|\/\d+ .*)?$/.test(value(row)));
      const number = row => parseInt(value(row) || '0', 10);
      const before = head.getAttribute('aria-sort');
      const turn = { ascending: 'descending', descending: 'ascending' }[before] ?? (isNumber ? 'descending' : 'ascending');
      for (const other of table.tHead.rows[0].cells) other.removeAttribute('aria-sort');
      head.setAttribute('aria-sort', turn);
      const sorted = [...first].sort((a, b) => isNumber ? number(a) - number(b) : value(a).localeCompare(value(b)));
      body.replaceChildren(...(turn === 'descending' ? sorted.reverse() : sorted));
    });
  }
}
// What is printed is open, and closed again behind it.
let closed = [];
addEventListener('beforeprint', () => {
  closed = [...document.querySelectorAll('details:not([open]):not([data-print])')].filter(part => !part.closest('[data-print]'));
  for (const part of closed) part.open = true;
});
addEventListener('afterprint', () => { for (const part of closed) part.open = false; });
for (const block of document.querySelectorAll('pre')) {
  const button = document.createElement('button');
  const text = block.textContent;
  button.textContent = words.copy;
  button.addEventListener('click', async () => {
    button.textContent = await copy(text) ? words.copied : words.select;
  });
  block.append(button);
}
// Browsers refuse the clipboard to pages that were fetched without TLS.
async function copy(text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    const area = document.createElement('textarea');
    area.value = text;
    document.body.append(area);
    area.select();
    const done = document.execCommand('copy');
    area.remove();
    return done;
  }
}
addEventListener('hashchange', read);
read();
