// Converts the server's documents about pending pods, gangs and explanations to texts and rows.

import { compareNames } from './grouping.js';
import { formatCount } from './quantities.js';
import { column, numberColumn, rowOf } from './rows.js';
import { MAX_CHARACTERS } from './url_state.js';

/**
 * @typedef {import('./rows.js').Table} Table
 *
 * @typedef {{by: string, plugin: string, reason: string, nodes: number[]}} Reason nodes: indexes into document.nodes
 *
 * @typedef {{namespace: string, name: string, gang: string, priority: number, category: string, fitting: number,
 *   note: string, reasons: number[]}} PendingPod
 *
 * @typedef {{count: number, isComplete?: boolean, nodes: string[], reasons: Reason[], pods: PendingPod[]}} PendingDocument
 *
 * @typedef {{gang: string, state: string, waitsFor: string, minimum: number, priority: number,
 *   members: {exist: number | null, inBind: number, onNodes: number | null}}} Gang
 *
 * @typedef {{gangs: Gang[], open: string | null, compared: boolean}} GangsDocument compared: gangs are enabled
 */

/** @type {Record<string, string>} */
export const CATEGORIES = {
  unschedulable: 'Unschedulable',
  'schedulable-now': 'Schedulable now',
  undetermined: 'Undetermined',
};

/** The name of a reason in the address, cut off if it is long. @param {Reason} reason */
export function reasonKey({ by, plugin, reason }) {
  return `${by} ${plugin}: ${reason}`.slice(0, MAX_CHARACTERS);
}

/** The names of the nodes that a reason rejects; null if it does not reject any now. @param {PendingDocument} document
 * @param {string} key */
export function nodesOf({ nodes, reasons }, key) {
  const found = key && reasons.find((reason) => reasonKey(reason) === key);
  return found ? found.nodes.map((at) => nodes[at]) : null;
}

/** The number of pods in a category. @param {PendingDocument} document @param {string} category */
export function countOf({ pods }, category) {
  return pods.filter((pod) => pod.category === category).length;
}

/** @param {PendingDocument} document */
export function captionOf(document) {
  const { count, pods } = document;
  if (!count) return 'No pod is pending';
  const parts = Object.entries(CATEGORIES).map(([key, title]) => `${countOf(document, key)} ${title.toLowerCase()}`);
  const left = count - pods.length;
  return `${formatCount(count, 'pending pod')}: ${parts.join(', ')}${left ? `, ${left} more not listed` : ''}`;
}

/** The reasons of a category's pods: first the one that is the main reason of most pods. @param {PendingDocument} document
 * @param {string} category empty: all @returns {{reason: Reason, key: string, pods: number}[]} */
export function reasonsOf({ reasons, pods }, category) {
  const shown = pods.filter((pod) => !category || pod.category === category);
  const mainOf = (/** @type {PendingPod} */ pod) =>
    pod.fitting || pod.category === 'undetermined' ? -1 : pod.reasons[0];
  const found = reasons.map((reason, at) => ({
    reason,
    key: reasonKey(reason),
    pods: shown.filter((pod) => pod.reasons.includes(at)).length,
    main: shown.filter((pod) => mainOf(pod) === at).length,
  }));
  return found
    .filter((each) => each.pods > 0)
    .sort((a, b) => b.main - a.main || b.pods - a.pods || compareNames(a.key, b.key));
}

/** @param {PendingDocument} document @param {string} category empty: all @param {string} reason key; empty: all
 * @returns {Table} */
export function pendingTable({ nodes, reasons, pods }, category, reason) {
  const at = reasons.findIndex((each) => reasonKey(each) === reason);
  const found = pods.filter((pod) => (!category || pod.category === category) && (!reason || pod.reasons.includes(at)));
  return {
    caption: 'Pending pods',
    columns: [
      column('name', 'Pod'),
      column('state', 'State', 'wide'),
      column('why', 'Why'),
      numberColumn('fitting', 'Nodes that fit', 'medium'),
      numberColumn('priority', 'Priority', 'wide'),
      column('gang', 'Gang', 'wide'),
    ],
    rows: found.map((pod) => {
      const name = `${pod.namespace}/${pod.name}`;
      const state = CATEGORIES[pod.category] ?? '';
      const why = pod.note || (pod.fitting ? '' : (reasons[pod.reasons[0]]?.reason ?? ''));
      const fitting = pod.category === 'undetermined' ? '' : `${pod.fitting} of ${nodes.length}`;
      return rowOf(name, [name, state, why, [fitting, pod.fitting], pod.priority, pod.gang]);
    }),
  };
}

// Gangs

export const GANG_HEADS = ['Gang', 'State', 'Waits for', 'Members', 'In bind', 'On nodes', 'Priority'];

/** Sort waiting gangs first, the most urgent one at the top. @param {GangsDocument} found @returns {Gang[]} */
export function inOrder(found) {
  return [...found.gangs].sort(
    (a, b) => Number(!a.waitsFor) - Number(!b.waitsFor) || b.priority - a.priority || compareNames(a.gang, b.gang),
  );
}

/** @param {GangsDocument} found */
export function gangsCaption({ gangs, open, compared }) {
  if (!gangs.length) return compared ? 'No gangs' : 'Gangs: the configuration in force does not enable them';
  const waiting = gangs.filter(({ waitsFor }) => waitsFor).length;
  return `${formatCount(gangs.length, 'gang')}, ${waiting} waiting${open ? `; ${open} is being placed` : ''}`;
}

/** The texts of a row, without the name. @param {Gang} gang */
export function gangTexts({ state, waitsFor, members, minimum, priority }) {
  const known = (/** @type {number | null} */ count) => (count === null ? '?' : String(count));
  const exist = `${known(members.exist)} of ${minimum}`;
  return [state, waitsFor, exist, String(members.inBind), known(members.onNodes), String(priority)];
}

// One pod or gang explained, as berth explain -o json prints it

/**
 * @typedef {{changes: {text: string, node: string | null}[], fits: string[]}} Counterfactual
 *
 * @typedef {{members?: {pod: string, state: string, node: string | null}[], before?: string[], warnings?: string[],
 *   reasons?: {by: string, plugin: string, reason: string, count: number, nodes: string[]}[],
 *   ranking?: {node: string, total: number, scores: Record<string, number>}[],
 *   counterfactuals?: Counterfactual[]}} Explanation of a pod or a gang
 *
 * @typedef {object} Preemption if evictions do not help the pod: only the reason
 * @property {string} [reason]
 * @property {string} [node]
 * @property {{namespace: string, name: string, priority: number, violates: string[]}[]} [victims]
 * @property {Record<string, unknown>} [otherNodes]
 */

const MAX_NAMES = 3;

/** A sentence for each change, with the nodes that the pod then fits on. @param {Counterfactual[]} found */
export function changeTexts(found) {
  return found.map(({ changes, fits }) => {
    const text = changes.map((change) => change.text).join('; and ');
    // The text of a node's change already contains the node's name.
    if (!fits.length || changes.some(({ node }) => node)) return text;
    const left = fits.length - MAX_NAMES;
    return `${text} → ${fits.slice(0, MAX_NAMES).join(', ')}${left > 0 ? ` and ${left} more` : ''}`;
  });
}

/** The pods that an attempt would evict; empty if preemption is not tried. @param {Preemption | null} [found]
 * @returns {string[]} */
export function evictionTexts(found) {
  if (!found) return [];
  if (!found.node) return [`Preemption: ${found.reason}`];
  const victims = (found.victims ?? []).map(({ namespace, name, priority, violates }) => {
    const budgets = violates.length ? `, violates ${violates.join(', ')}` : '';
    return `${namespace}/${name} (priority ${priority}${budgets})`;
  });
  const others = Object.keys(found.otherNodes ?? {}).length;
  return [
    `Preemption would place it on ${found.node}. It evicts ${victims.join(', ')}.`,
    ...(others ? [`${formatCount(others, 'other node')} would take more evictions, or cannot be used.`] : []),
  ];
}
