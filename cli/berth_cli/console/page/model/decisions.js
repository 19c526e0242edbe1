// The decisions that the page has, and the rows of their table.

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
 * @typedef {Decision & {rejected: {reason: string, plugin: string, count: number, nodes: string[]}[],
 *   scores: {node: string, score: number}[]}} DecisionDetails
 */

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

/** @param {readonly Decision[]} decisions @returns {Table} */
export function decisionTable(decisions) {
  return {
    caption: 'Decisions',
    columns: [
      { key: 'number', title: 'Time', isNumber: false, isWide: false },
      { key: 'verb', title: 'Verb', isNumber: false, isWide: false },
      { key: 'pod', title: 'Pod', isNumber: false, isWide: false },
      { key: 'outcome', title: 'Outcome', isNumber: false, isWide: true },
      { key: 'fit', title: 'Nodes that fit', isNumber: true, isWide: false },
      { key: 'why', title: 'Reasons', isNumber: false, isWide: true },
      { key: 'milliseconds', title: 'ms', isNumber: true, isWide: true },
    ],
    rows: decisions.map((each) => {
      const pod = `${each.namespace}/${each.name}`;
      const fit = each.feasible === null ? `all ${each.nodes}` : `${each.feasible} of ${each.nodes}`;
      const why = summaryOf(each);
      const time = TIME.format(new Date(each.time * 1000));
      return {
        key: String(each.number),
        texts: [time, each.verb, pod, each.outcome, fit, why, each.milliseconds.toFixed(1)],
        values: [each.number, each.verb, pod, each.outcome, each.feasible ?? each.nodes, why, each.milliseconds],
        share: null,
      };
    }),
  };
}

/** The nodes by their scores, the best first, each with its share of the best score. @param {DecisionDetails} found
 * @param {number} most */
export function scoreBars(found, most) {
  const scores = [...found.scores].sort((a, b) => b.score - a.score).slice(0, most);
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
