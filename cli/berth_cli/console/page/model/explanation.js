// One pending pod: what berth explain says of it, in sentences.

import { formatCount } from './quantities.js';

/**
 * @typedef {object} Explanation what berth explain -o json prints, and its headline
 * @property {string} headline
 * @property {{by: string, plugin: string, reason: string, count: number, nodes: string[]}[]} reasons
 * @property {{node: string, total: number, scores: Record<string, number>}[]} ranking
 * @property {Counterfactual[]} counterfactuals
 * @property {string | null} searchEnd null: no changes were looked for
 * @property {string} searchNote why there are none, or may be others
 * @property {Preemption | null} [preemption]
 *
 * @typedef {object} Counterfactual
 * @property {{text: string, node: string | null}[]} changes
 * @property {string[]} fits
 *
 * @typedef {object} Preemption of a pod that no eviction helps: only the reason
 * @property {string} [reason]
 * @property {string} [node]
 * @property {{namespace: string, name: string, priority: number, violates: string[]}[]} [victims]
 * @property {Record<string, {reason: string}>} [otherNodes]
 */

const MOST_NAMES = 3;

/** @param {readonly string[]} names */
function examples(names) {
  const left = names.length - MOST_NAMES;
  return names.slice(0, MOST_NAMES).join(', ') + (left > 0 ? ` and ${left} more` : '');
}

/** A sentence for each change, with the nodes that the pod then fits on. @param {Counterfactual[]} found */
export function changeTexts(found) {
  return found.map(({ changes, fits }) => {
    const text = changes.map((change) => change.text).join('; and ');
    // A change of a node names it already.
    return fits.length && !changes.some(({ node }) => node) ? `${text} → ${examples(fits)}` : text;
  });
}

/** What an attempt would evict; empty: preemption is not tried, or nothing is said of it.
 * @param {Explanation['preemption']} found @returns {string[]} */
export function evictionTexts(found) {
  if (!found) return [];
  if (!found.node) return [`Preemption: ${found.reason}`];
  const victims = (found.victims ?? []).map(({ namespace, name, priority, violates }) => {
    const budgets = violates.length ? `, violates ${violates.join(', ')}` : '';
    return `${namespace}/${name} (priority ${priority}${budgets})`;
  });
  const others = Object.values(found.otherNodes ?? {}).length;
  return [
    `Preemption would place it on ${found.node}. It evicts ${victims.join(', ')}.`,
    ...(others ? [`${formatCount(others, 'other node')} would take more evictions, or cannot be used.`] : []),
  ];
}
