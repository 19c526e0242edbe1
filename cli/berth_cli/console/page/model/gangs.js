// Gangs: the server's document, their order, and what the table says of each.

import { compareNames } from './grouping.js';
import { formatCount } from './quantities.js';

/**
 * @typedef {object} Gang
 * @property {string} gang namespace and name
 * @property {string} state
 * @property {string} waitsFor empty where it waits for nothing
 * @property {number} minimum
 * @property {{exist: number | null, inBind: number, onNodes: number | null}} members
 * @property {number} priority
 *
 * @typedef {object} GangsDocument what berth gangs list -o json prints
 * @property {Gang[]} gangs
 * @property {string | null} open the gang that is being placed
 * @property {boolean} compared whether the node cache was read
 */

export const HEADS = ['Gang', 'State', 'Waits for', 'Members', 'In bind', 'On nodes', 'Priority'];
export const NOT_ENABLED = 'Gangs: the configuration in force does not enable them';

/** Those that wait come first, the most urgent one at the top. @param {GangsDocument} found @returns {Gang[]} */
export function inOrder(found) {
  return [...found.gangs].sort(
    (a, b) => Number(!a.waitsFor) - Number(!b.waitsFor) || b.priority - a.priority || compareNames(a.gang, b.gang),
  );
}

/** @param {GangsDocument} found */
export function captionOf(found) {
  if (!found.gangs.length) return found.compared ? 'No gangs' : NOT_ENABLED;
  const waiting = found.gangs.filter(({ waitsFor }) => waitsFor).length;
  const open = found.open ? `; ${found.open} is being placed` : '';
  return `${formatCount(found.gangs.length, 'gang')}, ${waiting} waiting${open}`;
}

/** The texts of a row, without the name. @param {Gang} gang */
export function gangTexts({ state, waitsFor, members, minimum, priority }) {
  const known = (/** @type {number | null} */ count) => (count === null ? '?' : String(count));
  return [
    state,
    waitsFor,
    `${known(members.exist)} of ${minimum}`,
    String(members.inBind),
    known(members.onNodes),
    String(priority),
  ];
}
