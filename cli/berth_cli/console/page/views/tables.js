// Small tables of texts, for details.

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

/** @param {readonly (string | HTMLElement)[]} contents cells, or their contents */
export function row(contents) {
  const cells = contents.map((each) => (each instanceof HTMLTableCellElement ? each : element('td', {}, each)));
  return element('tr', {}, ...cells);
}

/** Nodes with their scores over bars, or pools with the held units. @param {string[]} heads
 * @param {{node: string, score: number | string, share: number, parts: Record<string, number> | null}[]} nodes */
export function scoreTable(heads, nodes) {
  const rows = nodes.map(({ node, score, share, parts }) => {
    const bar = element('span', { class: 'bar', 'aria-hidden': 'true' });
    bar.style.setProperty('--share', `${Math.max(0, share)}`);
    const named = Object.entries(parts ?? {}).filter(([, part]) => part);
    const cell = element('td', { class: 'number' }, score, bar);
    return row([node, cell, named.map(([plugin, part]) => `${plugin} ${part}`).join(' + ')]);
  });
  return table(heads, rows);
}

/** A scrolling region that the keyboard can reach. @param {string} label @param {HTMLElement} content */
export function scrolled(label, content) {
  return element('div', { class: 'scrolled', tabindex: 0, role: 'region', 'aria-label': label, hidden: true }, content);
}

/** @param {readonly string[]} texts @param {string} kind */
export function list(texts, kind) {
  return element('ul', { class: kind }, ...texts.map((text) => element('li', {}, text)));
}
