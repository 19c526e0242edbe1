// Pending pods by reason: the server's document, and the rows of the table.

import { compareNames } from './grouping.js';
import { formatCount } from './quantities.js';
import { column, numberColumn } from './rows.js';
import { MOST_CHARACTERS } from './url_state.js';

/**
 * @typedef {import('./rows.js').Table} Table
 *
 * @typedef {object} Reason
 * @property {string} by
 * @property {string} plugin
 * @property {string} reason
 * @property {string} code
 * @property {number} pods
 * @property {number[]} nodes positions
 *
 * @typedef {object} PendingDocument
 * @property {number} count
 * @property {boolean} [isComplete] whether all were judged on this state
 * @property {string[]} nodes
 * @property {Reason[]} reasons
 * @property {{namespace: string[], name: string[], gang: string[], priority: number[], category: string[],
 *   fitting: number[], note: string[], reasons: number[][]}} pods
 */

export const CATEGORIES = {
  unschedulable: 'Unschedulable',
  'schedulable-now': 'Schedulable now',
  undetermined: 'Undetermined',
};

/** As the address names a reason, which may be of any length. @param {Reason} reason */
export function reasonKey(reason) {
  return `${reason.by} ${reason.plugin}: ${reason.reason}`.slice(0, MOST_CHARACTERS);
}

/** The names of the nodes that a reason rejects; null: it rejects none now. @param {PendingDocument} document
 * @param {string} key */
export function nodesOf({ nodes, reasons }, key) {
  const found = key && reasons.find((reason) => reasonKey(reason) === key);
  return found ? found.nodes.map((at) => nodes[at]) : null;
}

/** @param {PendingDocument} document */
export function captionOf(document) {
  const { count, pods } = document;
  if (!count) return 'No pod is pending';
  const counts = byCategory(document);
  const parts = Object.entries(CATEGORIES).map(([key, title]) => `${counts.get(key) ?? 0} ${title.toLowerCase()}`);
  const left = count - pods.name.length;
  const more = left ? `, ${left} more not listed` : '';
  return `${formatCount(count, 'pending pod')}: ${parts.join(', ')}${more}`;
}

/** How many pods each category has. @param {PendingDocument} document @returns {Map<string, number>} */
export function byCategory(document) {
  const found = new Map(Object.keys(CATEGORIES).map((category) => [category, 0]));
  for (const category of document.pods.category) found.set(category, (found.get(category) ?? 0) + 1);
  return found;
}

/** The reasons of the pods of a category, that of most pods first. @param {PendingDocument} document
 * @param {string} category empty: all @returns {{reason: Reason, key: string, pods: number}[]} */
export function reasonsOf(document, category) {
  /** @type {number[]} */
  const pods = document.reasons.map(() => 0);
  document.pods.reasons.forEach((reasons, at) => {
    if (!category || document.pods.category[at] === category) for (const reason of reasons) pods[reason] += 1;
  });
  return document.reasons
    .map((reason, at) => ({ reason, key: reasonKey(reason), pods: pods[at] }))
    .filter((each) => each.pods > 0)
    .sort((a, b) => b.pods - a.pods || b.reason.nodes.length - a.reason.nodes.length || compareNames(a.key, b.key));
}

/** @param {PendingDocument} document @param {string} category empty: all @param {string} reason key; empty: all
 * @returns {Table} */
export function pendingTable(document, category, reason) {
  const { pods } = document;
  const at = reason ? document.reasons.findIndex((each) => reasonKey(each) === reason) : -1;
  const rows = [];
  for (let row = 0; row < pods.name.length; row += 1) {
    if (category && pods.category[row] !== category) continue;
    if (reason && !pods.reasons[row].includes(at)) continue;
    const name = `${pods.namespace[row]}/${pods.name[row]}`;
    const state = CATEGORIES[/** @type {keyof typeof CATEGORIES} */ (pods.category[row])] ?? '';
    const first = document.reasons[pods.reasons[row][0]];
    const why = pods.note[row] || (pods.fitting[row] ? '' : (first?.reason ?? ''));
    const fitting = pods.note[row] ? '' : `${pods.fitting[row]} of ${document.nodes.length}`;
    rows.push({
      key: name,
      texts: [name, state, why, fitting, String(pods.priority[row]), pods.gang[row]],
      values: [name, state, why, pods.fitting[row], pods.priority[row], pods.gang[row]],
      share: null,
    });
  }
  return {
    caption: 'Pending pods',
    columns: [
      column('name', 'Pod', 'narrow', 3),
      column('state', 'State', 'wide'),
      column('why', 'Why', 'narrow', 3),
      numberColumn('fitting', 'Nodes that fit', 'medium'),
      numberColumn('priority', 'Priority', 'wide'),
      column('gang', 'Gang', 'wide'),
    ],
    rows,
  };
}
