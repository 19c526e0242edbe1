// What a second policy would place elsewhere: the server's document, and the rows of the table.

import { column } from './rows.js';

/**
 * @typedef {import('./rows.js').Table} Table
 *
 * @typedef {object} PolicyDocument
 * @property {string} inForce
 * @property {string} fallback
 * @property {{name: string, text: string} | null} second
 * @property {string} recording name of its file; empty without one
 *
 * @typedef {object} Place
 * @property {string} state
 * @property {string | null} node
 *
 * @typedef {object} PolicyDiff
 * @property {string} headline
 * @property {number} judged
 * @property {string[]} notes what is left out
 * @property {{namespace: string, name: string, effect: string, before: Place, after: Place}[]} pods
 * @property {string[]} messages why each of them goes elsewhere
 *
 * @typedef {object} ShadowDocument what GET /shadow of berth serve answers
 * @property {Record<string, number>} decisions by result
 * @property {{time: number, namespace: string, name: string, result: string, before: string | null,
 *   after: string | null, rules: {plugin: string, reason: string, nodes: number}[]}[]} disagreements the oldest first
 */

export const SHADOW_HEADS = ['Time', 'Pod', 'Result', 'In force', 'Second', 'Why'];

/** @param {ShadowDocument} found */
export function shadowSummary({ decisions }) {
  const parts = Object.entries(decisions).map(([result, count]) => `${count} ${result}`);
  return parts.length
    ? `Live decisions judged by both: ${parts.join(', ')}`
    : 'No live decision was judged by both yet';
}

const TIME = new Intl.DateTimeFormat('en-GB', { hour: '2-digit', minute: '2-digit', second: '2-digit' });

/** The newest first. @param {ShadowDocument} found @returns {string[][]} */
export function shadowRows({ disagreements }) {
  return disagreements
    .toReversed()
    .map(({ time, namespace, name, result, before, after, rules }) => [
      TIME.format(new Date(time * 1000)),
      `${namespace}/${name}`,
      result,
      before ?? 'none',
      after ?? 'none',
      rules.map(({ plugin, reason, nodes }) => `${nodes} × ${plugin}: ${reason}`).join('; '),
    ]);
}

/** @param {Place} place */
function placeText(place) {
  return place.node ?? place.state;
}

/** @param {PolicyDiff} diff @param {string} what was done with them */
export function summaryOf(diff, what) {
  return [`${diff.judged} ${what}: ${diff.headline}`, ...diff.notes].join('; ');
}

/** @param {PolicyDiff} diff @returns {Table} */
export function diffTable(diff) {
  return {
    caption: 'Pods that the second policy places elsewhere',
    columns: [
      column('name', 'Pod'),
      column('effect', 'Effect', 'medium', 1),
      column('before', 'In force'),
      column('after', 'Second'),
      column('why', 'Why', 'medium', 5),
    ],
    rows: diff.pods.map((each, at) => {
      const texts = [
        `${each.namespace}/${each.name}`,
        each.effect,
        placeText(each.before),
        placeText(each.after),
        diff.messages[at],
      ];
      return { key: texts[0], texts, values: texts, share: null };
    }),
  };
}
