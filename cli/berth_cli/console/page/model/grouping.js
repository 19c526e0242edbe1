// Nodes in groups by a label, and how much of a resource is in use.

/** @typedef {import('./cluster.js').Node} Node */

/**
 * @typedef {object} Group
 * @property {string | null} value the label's value; null: nodes without the label
 * @property {Node[]} nodes in the order of their names
 *
 * @typedef {object} Use
 * @property {number} used
 * @property {number} allocatable
 * @property {number | null} share of what is allocatable; null where there is nothing
 */

export const NO_GROUPS = '';

const ORDER = new Intl.Collator('en', { numeric: true });

/** Names as people sort them: n2 before n10. @param {string} a @param {string} b */
export function compareNames(a, b) {
  return ORDER.compare(a, b) || (a < b ? -1 : Number(a > b));
}

/** @param {Iterable<Node>} nodes @param {string} label NO_GROUPS: all nodes are one group @returns {Group[]} */
export function groupNodes(nodes, label) {
  /** @type {Map<string | null, Node[]>} */
  const found = new Map();
  for (const node of nodes) {
    const value = label === NO_GROUPS ? '' : (node.labels.get(label) ?? null);
    const group = found.get(value);
    if (group) group.push(node);
    else found.set(value, [node]);
  }
  return [...found]
    .map(([value, members]) => ({ value, nodes: members.sort((a, b) => compareNames(a.name, b.name)) }))
    .sort((a, b) => compareGroups(a.value, b.value));
}

/** Nodes without the label come last. @param {string | null} a @param {string | null} b */
function compareGroups(a, b) {
  if (a === null || b === null) return Number(a === null) - Number(b === null);
  return compareNames(a, b);
}

const WELL_KNOWN = [
  'topology.kubernetes.io/zone',
  'eks.amazonaws.com/nodegroup',
  'karpenter.sh/nodepool',
  'node.kubernetes.io/instance-type',
  'cloud.google.com/gke-nodepool',
  'agentpool',
];

const MOST_GROUPS = 200;

/** The labels that divide the nodes into groups: well-known ones first, then by the number of groups.
 * A label with another value on each node, such as the host name, groups nothing.
 * @param {Iterable<Node>} nodes @returns {string[]} */
export function groupingLabels(nodes) {
  /** @type {Map<string, Set<string>>} */
  const values = new Map();
  let count = 0;
  for (const node of nodes) {
    count += 1;
    for (const [label, value] of node.labels) {
      const found = values.get(label);
      if (!found) values.set(label, new Set([value]));
      else if (found.size <= MOST_GROUPS) found.add(value);
    }
  }
  const most = Math.min(MOST_GROUPS, Math.max(2, count - 1));
  return [...values]
    .filter(([, found]) => found.size <= most || count === 1)
    .map(([label, found]) => ({ label, known: WELL_KNOWN.includes(label), size: found.size }))
    .sort((a, b) => {
      if (a.known !== b.known) return a.known ? -1 : 1;
      if (a.known) return WELL_KNOWN.indexOf(a.label) - WELL_KNOWN.indexOf(b.label);
      return a.size - b.size || compareNames(a.label, b.label);
    })
    .map(({ label }) => label);
}

const COMMON = ['cpu', 'memory', 'pods', 'ephemeral-storage'];

/** The resources that any node has: the common ones, then counted ones, then the others.
 * @param {Iterable<Node>} nodes @param {readonly string[]} counted @returns {string[]} */
export function resourcesOf(nodes, counted) {
  /** @type {Set<string>} */
  const found = new Set(counted);
  for (const node of nodes) for (const name of node.amounts.keys()) found.add(name);
  const rank = (/** @type {string} */ name) => {
    if (COMMON.includes(name)) return COMMON.indexOf(name);
    return counted.includes(name) ? COMMON.length : COMMON.length + 1;
  };
  return [...found].sort((a, b) => rank(a) - rank(b) || compareNames(a, b));
}

/** @param {Node} node @param {string} resource @returns {Use} */
export function useOf(node, resource) {
  const amount = node.amounts.get(resource);
  return amount ? use(amount.used, amount.allocatable) : use(0, 0);
}

/** @param {Iterable<Node>} nodes @param {string} resource @returns {Use} */
export function totalUse(nodes, resource) {
  let used = 0;
  let allocatable = 0;
  for (const node of nodes) {
    const amount = node.amounts.get(resource);
    if (amount) {
      used += amount.used;
      allocatable += amount.allocatable;
    }
  }
  return use(used, allocatable);
}

/** @param {number} used @param {number} allocatable @returns {Use} */
function use(used, allocatable) {
  if (allocatable > 0) return { used, allocatable, share: used / allocatable };
  return { used, allocatable, share: used > 0 ? Infinity : null };
}
