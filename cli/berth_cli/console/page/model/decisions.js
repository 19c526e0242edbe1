// The decisions that the page has, and the rows of their table.

import { compareNames } from './grouping.js';
import { column, numberColumn } from './rows.js';
import { MOST_CHARACTERS } from './url_state.js';

/**
 * @typedef {import('./rows.js').Table} Table
 *
 * @typedef {object} Decision a record of berth serve, with its number
 * @property {number} number
 * @property {number} time seconds since the epoch
 * @property {string} verb
 * @property {string} namespace
 * @property {string} name
 * @property {string} outcome
 * @property {number} milliseconds
 * @property {string} profile
 * @property {number | null} cacheAgeSeconds
 * @property {number} nodes
 * @property {number | null} feasible
 * @property {string | null} chosen
 * @property {{reason: string, plugin: string, count: number, nodes: string[]}[]} reasons
 * @property {{node: string, score: number, byPlugin: Record<string, number> | null}[]} best
 * @property {Record<string, number>} victims of preempt: how many pods of each node
 * @property {string} error why a bind or a call failed
 *
 * A reason may have more nodes than it names: a record of another process has examples.
 * passed: nodes without a reason, where the record has them.
 * @typedef {Decision & {rejected: {reason: string, plugin: string, count: number, nodes: string[]}[],
 *   scores: {node: string, score: number}[], passed?: string[]}} DecisionDetails
 *
 * @typedef {object} Judged the decisions that judged a node, also where their summaries do not name it
 * @property {string} node
 * @property {ReadonlySet<number>} numbers of the decisions
 */

/** @type {Judged} */
export const NONE_JUDGED = { node: '', numbers: new Set() };

const NODE_NAME = /^[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?$/;

/** The console keeps no more. */
export const MOST_DECISIONS = 1000;

/** With those that came, the newest at the end. @param {readonly Decision[]} known @param {readonly Decision[]} come */
export function joined(known, come) {
  const last = known.at(-1)?.number ?? 0;
  return [...known, ...come.filter(({ number }) => number > last)].slice(-MOST_DECISIONS);
}

const TIME = new Intl.DateTimeFormat('en-GB', { hour: '2-digit', minute: '2-digit', second: '2-digit' });

/** What is said of it in one line. @param {Decision} decision */
export function summaryOf(decision) {
  if (decision.error) return decision.error;
  if (decision.reasons.length) return decision.reasons.map(({ reason, count }) => `${count} × ${reason}`).join('; ');
  const [best] = decision.best;
  return best ? `best: ${best.node} (${best.score})` : (decision.chosen ?? '');
}

/** As the address names a decision: its number alone is another decision's after the console was started again.
 * @param {Decision} decision */
export function decisionKey({ number, time }) {
  return `${number}@${time}`;
}

/** @param {readonly Decision[]} decisions @param {string} verb empty: any @param {string} reason empty: any */
export function matching(decisions, verb, reason) {
  return decisions.filter(
    (each) => (!verb || each.verb === verb) && (!reason || each.reasons.some((found) => isNamed(found, reason))),
  );
}

/** @param {{reason: string}} found @param {string} reason as the address names it */
function isNamed(found, reason) {
  return found.reason.slice(0, MOST_CHARACTERS) === reason;
}

/** The verbs and the reasons that there are, each with its number of decisions; that of most first, and what is chosen
 * even if there is none. @param {readonly Decision[]} decisions @param {string} verb @param {string} reason
 * @returns {{verbs: [string, number][], reasons: [string, number][]}} */
export function choices(decisions, verb, reason) {
  const verbs = new Map(verb ? [[verb, 0]] : []);
  const reasons = new Map(reason ? [[reason, 0]] : []);
  for (const each of decisions) {
    verbs.set(each.verb, (verbs.get(each.verb) ?? 0) + 1);
    for (const name of new Set(each.reasons.map((found) => found.reason.slice(0, MOST_CHARACTERS)))) {
      reasons.set(name, (reasons.get(name) ?? 0) + 1);
    }
  }
  const ordered = (/** @type {Map<string, number>} */ found) =>
    [...found].sort((a, b) => b[1] - a[1] || compareNames(a[0], b[0]));
  return { verbs: ordered(verbs), reasons: ordered(reasons) };
}

/** The name that a node may have, as the filter compares it; empty: no node is called so. @param {string} filter */
export function nodeNamed(filter) {
  const name = filter.trim().toLowerCase();
  return NODE_NAME.test(name) ? name : '';
}

/** What the filter finds beside the columns: plugins, and nodes that are named, or that the decision judged.
 * @param {Decision} decision @param {Judged} judged */
function searchTexts({ number, chosen, reasons, best, victims, profile }, judged) {
  return [
    chosen ?? '',
    judged.numbers.has(number) ? judged.node : '',
    profile,
    ...reasons.flatMap(({ plugin, nodes }) => [plugin, ...nodes]),
    ...best.map(({ node }) => node),
    ...Object.keys(victims),
  ];
}

/** @param {readonly Decision[]} decisions @param {Judged} [judged] by the node that the filter names @returns {Table} */
export function decisionTable(decisions, judged = NONE_JUDGED) {
  return {
    caption: 'Decisions',
    columns: [
      column('number', 'Time', 'narrow', 1),
      column('verb', 'Verb', 'narrow', 1),
      column('pod', 'Pod', 'narrow', 2),
      column('outcome', 'Outcome', 'wide', 1),
      numberColumn('fit', 'Nodes that fit'),
      column('why', 'Reasons', 'medium', 3),
      numberColumn('milliseconds', 'ms', 'wide'),
    ],
    rows: decisions.map((each) => {
      const pod = `${each.namespace}/${each.name}`;
      const fit = each.feasible === null ? `all ${each.nodes}` : `${each.feasible} of ${each.nodes}`;
      const why = summaryOf(each);
      const time = TIME.format(new Date(each.time * 1000));
      return {
        key: decisionKey(each),
        texts: [time, each.verb, pod, each.outcome, fit, why, each.milliseconds.toFixed(1)],
        values: [each.number, each.verb, pod, each.outcome, each.feasible ?? each.nodes, why, each.milliseconds],
        share: null,
        search: searchTexts(each, judged),
      };
    }),
  };
}

/** The nodes by their scores, the best first and equal ones by name, as the summary names them; each with its share of
 * the best score. @param {DecisionDetails} found @param {number} most */
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

/** What is said of it under its title. @param {DecisionDetails} found @returns {string[]} */
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

/** The nodes of a reason. @param {DecisionDetails['rejected'][number]} rejected */
export function nodesText({ count, nodes }) {
  const left = count - nodes.length;
  return nodes.join(', ') + (left > 0 ? ` and ${left} more, which the record does not name` : '');
}
