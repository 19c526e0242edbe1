// One pending pod: the verdict, the reasons with their nodes, the best nodes, evictions, and the changes that would place
// it.

import { changeTexts, evictionTexts } from '../model/explanation.js';
import { element } from './elements/dom.js';
import { barCell, reasonTable, row, table } from './elements/tables.js';

/** @typedef {import('../model/explanation.js').Explanation} Explanation */

/** @param {HTMLElement} place its id names it for the light, too @param {Explanation} found @param {import('./highlight.js').Highlight} highlight */
export function showExplanation(place, found, highlight) {
  place.replaceChildren(
    element('h3', {}, found.headline),
    ...evictionTexts(found.preemption).map((text) => element('p', {}, text)),
    ...(found.reasons.length ? [reasonTable(found.reasons, highlight, place.id)] : []),
    ...(found.ranking.length ? [element('h3', {}, 'The best nodes'), ranking(found.ranking)] : []),
    ...changesOf(found),
  );
}

/** What would place a pod or a gang; nothing where no changes were looked for.
 * @param {Pick<Explanation, 'counterfactuals' | 'searchEnd' | 'searchNote'>} found */
export function changesOf({ counterfactuals, searchEnd, searchNote }) {
  if (searchEnd === null) return [];
  return [
    element('h3', {}, 'What would place it'),
    ...(counterfactuals.length ? [list(changeTexts(counterfactuals))] : []),
    ...(searchNote ? [element('p', {}, searchNote)] : []),
  ];
}

/** @param {Explanation['ranking']} nodes */
function ranking(nodes) {
  const most = Math.max(1, ...nodes.map(({ total }) => total));
  return table(
    ['Node', 'Total', 'Scores'],
    nodes.map(({ node, total, scores }) => {
      const parts = Object.entries(scores).filter(([, score]) => score);
      return row([
        node,
        barCell(String(total), total / most),
        parts.map(([plugin, score]) => `${plugin} ${score}`).join(' + '),
      ]);
    }),
  );
}

/** @param {string[]} texts */
function list(texts) {
  return element('ul', { class: 'changes' }, ...texts.map((text) => element('li', {}, text)));
}
