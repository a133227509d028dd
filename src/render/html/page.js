'use strict';
// Filters, links from the map to the findings, and copying. The page is whole without it.
const rows = [...document.querySelectorAll('[data-finding]')];
const groups = [...document.querySelectorAll('[data-group]')];
const search = document.getElementById('search');
const shown = document.getElementById('shown');
const picked = document.getElementById('picked');
const texts = new Map();
// What was clicked on the map; `null` where nothing was.
let ids = null;
const textOf = row => {
  if (!texts.has(row)) texts.set(row, `${row.textContent} ${row.dataset.ids} ${row.closest('[data-group]').dataset.group}`.toLowerCase());
  return texts.get(row);
};
const checked = name => new Set([...document.querySelectorAll(`input[name=${name}]:checked`)].map(box => box.value));

function filter() {
  const words = search.value.toLowerCase().split('|').map(word => word.trim()).filter(Boolean);
  const severities = checked('severity');
  const fixes = checked('fix');
  const statuses = document.querySelector('input[name=status]') ? checked('status') : null;
  let number = 0;
  for (const row of rows) {
    const fits = severities.has(row.dataset.severity) && fixes.has(row.dataset.fix)
      && (!statuses || statuses.has(row.dataset.status))
      && (!ids || row.dataset.ids.split(' ').some(id => ids.has(id)))
      && (words.length === 0 || words.some(word => textOf(row).includes(word)));
    if (row.hidden === fits) row.hidden = !fits;
    if (fits) number += 1;
  }
  for (const group of groups) {
    const fitting = group.querySelectorAll('[data-finding]:not([hidden])').length;
    group.hidden = fitting === 0;
    if ((ids || words.length > 0) && fitting > 0 && number <= 200) group.open = true;
  }
  picked.hidden = !ids;
  if (ids) picked.textContent = `${[...ids].slice(0, 2).join(', ')}${ids.size > 2 ? ` and ${ids.size - 2} more` : ''} \u2715`;
  shown.textContent = number === rows.length ? `${rows.length} shown` : `${number} of ${rows.length} shown`;
}

if (search) {
  let waiting;
  search.addEventListener('input', () => { clearTimeout(waiting); waiting = setTimeout(filter, 120); });
  for (const box of document.querySelectorAll('.tools input[type=checkbox]')) box.addEventListener('change', filter);
  picked.addEventListener('click', () => { ids = null; filter(); });
  document.querySelector('.tools').hidden = false;
  filter();
}
for (const part of document.querySelectorAll('[data-find]')) {
  const go = () => {
    if (!search) return;
    ids = new Set(part.dataset.find.split(' '));
    filter();
    document.getElementById('findings').scrollIntoView();
  };
  part.addEventListener('click', go);
  part.addEventListener('keydown', event => { if (event.key === 'Enter') go(); });
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
// What is printed is open, and closed again behind it.
let closed = [];
addEventListener('beforeprint', () => {
  closed = [...document.querySelectorAll('details:not([open])')];
  for (const part of closed) part.open = true;
});
addEventListener('afterprint', () => { for (const part of closed) part.open = false; });
for (const block of document.querySelectorAll('pre')) {
  const button = document.createElement('button');
  const text = block.textContent;
  button.textContent = 'copy';
  button.addEventListener('click', async () => {
    await navigator.clipboard.writeText(text);
    button.textContent = 'copied';
  });
  block.append(button);
}
