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
 * @property {NewNodes | null} [newNodes]
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
 *
 * @typedef {object} NewNodes what comes of nodes that an autoscaler adds
 * @property {string[]} fitsForScheduler nodes that are there, and that only Berth rejects
 * @property {{like: string, outcome: string, reason: string | null, count?: number}[]} kinds
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

/** @type {Record<string, (reason: string) => string>} */
const OUTCOMES = {
  'takes-the-pod': () => 'would take the pod',
  'too-small': (reason) => `is too small (${reason}); a larger one would take the pod`,
  'rejected-by-berth': (reason) => `would come in vain: Berth rejects it: ${reason}`,
  'rejected-by-kube-scheduler': (reason) => `does not help: kube-scheduler rejects it: ${reason}`,
};

/** @param {NewNodes} found @returns {string[]} */
export function newNodeTexts({ fitsForScheduler, kinds }) {
  const isAnyUse = kinds.some(({ outcome }) => outcome === 'takes-the-pod' || outcome === 'too-small');
  const fits = fitsForScheduler.length;
  const there = fits === 1 ? '1 node that is there' : `${fits} nodes that are there`;
  const first = [];
  if (fits) {
    first.push(`none comes: by kube-scheduler's own rules the pod fits on ${there} (${examples(fitsForScheduler)})`);
  } else if (!isAnyUse) {
    first.push('none of the kinds that are known would take the pod, of any size');
  }
  return [
    ...first,
    ...kinds.map(({ like, outcome, reason, count = 1 }) =>
      count > 1
        ? `${count} like ${like} would take the gang`
        : `one like ${like} ${OUTCOMES[outcome]?.(reason ?? '') ?? outcome}`,
    ),
  ];
}
