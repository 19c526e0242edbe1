// One pending pod: the verdict, the reasons with their nodes, the best nodes, and the changes that would place it.

import { element } from './elements/dom.js';
import { reasonTable, row, table } from './elements/tables.js';

/**
 * @typedef {object} Explanation what berth explain -o json prints, and its headline
 * @property {string} headline
 * @property {boolean} searched
 * @property {{by: string, plugin: string, reason: string, count: number, nodes: string[]}[]} reasons
 * @property {{node: string, total: number, scores: Record<string, number>}[]} ranking
 * @property {{changes: {text: string}[], fits: string[]}[]} counterfactuals
 */

const MOST_FITS = 3;

/** @param {HTMLElement} place @param {Explanation} found @param {(nodes: string[] | null) => void} light */
export function showExplanation(place, found, light) {
  place.replaceChildren(
    element('h3', {}, found.headline),
    ...(found.reasons.length ? [reasonTable(found.reasons, light)] : []),
    ...(found.ranking.length ? [element('h3', {}, 'The best nodes'), ranking(found.ranking)] : []),
    ...(found.searched ? [element('h3', {}, 'What would place it'), changes(found.counterfactuals)] : []),
  );
}

/** @param {Explanation['ranking']} nodes */
function ranking(nodes) {
  const most = Math.max(1, ...nodes.map(({ total }) => total));
  return table(
    ['Node', 'Total', 'Scores'],
    nodes.map(({ node, total, scores }) => {
      const parts = Object.entries(scores).filter(([, score]) => score);
      const made = row([node, String(total), parts.map(([plugin, score]) => `${plugin} ${score}`).join(' + ')]);
      const bar = element('span', { class: 'bar', 'aria-hidden': 'true' });
      bar.style.setProperty('--share', String(Math.max(0, total / most)));
      made.children[1].append(bar);
      return made;
    }),
  );
}

/** @param {Explanation['counterfactuals']} found */
function changes(found) {
  if (!found.length) return element('p', {}, 'No small change was found that would place it.');
  return element(
    'ul',
    { class: 'changes' },
    ...found.map(({ changes: steps, fits }) => {
      const more = fits.length > MOST_FITS ? ` and ${fits.length - MOST_FITS} more` : '';
      const where = fits.length ? ` → ${fits.slice(0, MOST_FITS).join(', ')}${more}` : '';
      return element('li', {}, steps.map(({ text }) => text).join('; and ') + where);
    }),
  );
}
