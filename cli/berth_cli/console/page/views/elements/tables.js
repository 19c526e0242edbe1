// Small tables of texts, for details. The long ones are grids.

import { element } from './dom.js';

/** @param {readonly string[]} heads @param {HTMLElement[]} rows */
export function table(heads, rows) {
  return element(
    'table',
    { class: 'facts' },
    element('thead', {}, element('tr', {}, ...heads.map((text) => element('th', { scope: 'col' }, text)))),
    element('tbody', {}, ...rows),
  );
}

/** @param {readonly (string | HTMLElement)[]} contents */
export function row(contents) {
  return element('tr', {}, ...contents.map((content) => element('td', {}, content)));
}

/** A region that scrolls, which the keyboard reaches. @param {string} label @param {HTMLElement} content */
export function scrolled(label, content) {
  return element('div', { class: 'scrolled', tabindex: 0, role: 'region', 'aria-label': label }, content);
}

/** Reasons with the nodes that each one rejects, which light up.
 * @param {{by: string, plugin: string, reason: string, count: number, nodes: string[]}[]} reasons
 * @param {(nodes: string[] | null) => void} light */
export function reasonTable(reasons, light) {
  return table(
    ['Nodes', 'Rule', 'Reason'],
    reasons.map((each) => {
      const made = row([String(each.count), `${each.by} ${each.plugin}`, each.reason]);
      made.addEventListener('pointerenter', () => light(each.nodes));
      made.addEventListener('pointerleave', () => light(null));
      return made;
    }),
  );
}
