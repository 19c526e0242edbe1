// Small tables of texts, for details. The long ones are grids.

import { element } from './dom.js';

/** @param {readonly string[]} heads @param {HTMLElement[] | HTMLTableSectionElement} rows or the body with them */
export function table(heads, rows) {
  return element(
    'table',
    { class: 'facts' },
    element('thead', {}, element('tr', {}, ...heads.map((text) => element('th', { scope: 'col' }, text)))),
    Array.isArray(rows) ? element('tbody', {}, ...rows) : rows,
  );
}

/** @param {readonly (string | HTMLElement)[]} contents cells, or what is in them */
export function row(contents) {
  return element(
    'tr',
    {},
    ...contents.map((content) => (content instanceof HTMLTableCellElement ? content : element('td', {}, content))),
  );
}

/** A number over a bar. @param {string} text @param {number} share of the longest bar */
export function barCell(text, share) {
  const bar = element('span', { class: 'bar', 'aria-hidden': 'true' });
  bar.style.setProperty('--share', String(Math.max(0, share)));
  return element('td', { class: 'number' }, text, bar);
}

/** A region that scrolls, which the keyboard reaches. @param {string} label @param {HTMLElement} content */
export function scrolled(label, content) {
  return element('div', { class: 'scrolled', tabindex: 0, role: 'region', 'aria-label': label }, content);
}

/** Reasons with the nodes that each one rejects, which light up.
 * @param {{by: string, plugin: string, reason: string, count: number, nodes: string[]}[]} reasons
 * @param {import('../highlight.js').Highlight} highlight @param {string} place of the table, for the light */
export function reasonTable(reasons, highlight, place) {
  return table(
    ['Nodes', 'Rule', 'Reason'],
    reasons.map((each) => {
      const made = row([String(each.count), `${each.by} ${each.plugin}`, each.reason]);
      made.addEventListener('pointerenter', () => highlight.point(place, each.nodes));
      made.addEventListener('pointerleave', () => highlight.point(place, null));
      return made;
    }),
  );
}
