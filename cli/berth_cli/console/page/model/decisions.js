// Converts the server's documents about decisions of the verbs to texts and rows.

import { column, numberColumn, rowOf } from './rows.js';

/**
 * @typedef {{reason: string, plugin: string, count: number, nodes: string[]}} Rejected it may have more nodes than it
 *   names: a record of another process has only examples
 * @typedef {{time: number, verb: string, namespace: string, name: string, outcome: string, milliseconds: number,
 *   profile: string, cacheAgeSeconds: number | null, nodes: number, feasible: number | null, chosen: string | null,
 *   reasons: Rejected[], best: {node: string, score: number, byPlugin: Record<string, number> | null}[],
 *   victims: Record<string, number>, error: string}} Recorded a call; victims: the number of pods by node
 * @typedef {Recorded & {key: string}} Decision key: its identifier in the address
 * @typedef {Recorded & {rejected: Rejected[], scores: {node: string, score: number}[], passed?: string[]}} Details
 */

const TIME = new Intl.DateTimeFormat('en-GB', { hour: '2-digit', minute: '2-digit', second: '2-digit' });

/** The summary of a decision in one line. @param {Decision} decision */
function summaryOf({ error, reasons, best: [best], chosen }) {
  if (error) return error;
  if (reasons.length) return reasons.map(({ reason, count }) => `${count} × ${reason}`).join('; ');
  return best ? `best: ${best.node} (${best.score})` : (chosen ?? '');
}

/** @param {readonly Decision[]} decisions @returns {import('./rows.js').Table} */
export function decisionTable(decisions) {
  return {
    caption: 'Decisions',
    columns: [
      column('time', 'Time'),
      column('verb', 'Verb'),
      column('pod', 'Pod'),
      column('outcome', 'Outcome', 'wide'),
      numberColumn('fit', 'Nodes that fit', 'medium'),
      column('why', 'Reasons', 'medium'),
      numberColumn('milliseconds', 'ms', 'wide'),
    ],
    rows: decisions.map((each) => {
      const pod = `${each.namespace}/${each.name}`;
      const fit = each.feasible === null ? `all ${each.nodes}` : `${each.feasible} of ${each.nodes}`;
      const why = summaryOf(each);
      const time = TIME.format(new Date(each.time * 1000));
      /** @type {import('./rows.js').Cell} */
      const took = [each.milliseconds.toFixed(1), each.milliseconds];
      const fitting = each.feasible ?? each.nodes;
      return rowOf(each.key, [[time, parseInt(each.key)], each.verb, pod, each.outcome, [fit, fitting], why, took]);
    }),
  };
}

/** The nodes, sorted by score, then by name, each with its share of the best score.
 * @param {Details} found @param {number} most */
export function scoreBars(found, most) {
  const scores = [...found.scores].sort((a, b) => b.score - a.score || (a.node < b.node ? -1 : 1)).slice(0, most);
  const best = Math.max(1, ...scores.map(({ score }) => score));
  const parts = new Map(found.best.map(({ node, byPlugin }) => [node, byPlugin]));
  return scores.map(({ node, score }) => ({
    node,
    score,
    share: Math.max(0, score / best),
    byPlugin: parts.get(node) ?? null,
  }));
}

/** The lines under the title of a decision. @param {Details} found @returns {string[]} */
export function factsOf(found) {
  const age = found.cacheAgeSeconds === null ? '' : `, on data ${found.cacheAgeSeconds.toFixed(1)} s old`;
  const profile = found.profile ? `Profile ${found.profile}, in` : 'In';
  const victims = Object.entries(found.victims).map(([node, count]) => `${node} (${count} pods to end)`);
  return [
    `${profile} ${found.milliseconds.toFixed(1)} ms${age}`,
    ...(found.chosen ? [`Node: ${found.chosen}`] : []),
    ...(victims.length ? [`Accepted: ${victims.join(', ')}`] : []),
    ...(found.error ? [found.error] : []),
  ];
}

/** The nodes of a reason. @param {Rejected} rejected */
export function nodesText({ count, nodes }) {
  const left = count - nodes.length;
  return nodes.join(', ') + (left > 0 ? ` and ${left} more, which the record does not name` : '');
}
