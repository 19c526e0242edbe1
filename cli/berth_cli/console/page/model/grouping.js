// Groups nodes by a label, and computes how much of a resource is in use.

/**
 * @typedef {{name: string, states: string[], labels: Map<string, string>, taints: string[],
 *   amounts: Map<string, [number, number]>}} Node states: empty for a ready node; amounts: allocatable and requested
 * @typedef {{value: string | null, nodes: Node[]}} Group value: of the label; null: nodes without it
 * @typedef {{used: number, allocatable: number, share: number | null}} Use share: of the allocatable amount; if that
 *   is 0: Infinity if some is used, otherwise null
 */

/** The nodes of the server's document. Maps, not objects, hold names that users choose. @param {any[]} rows
 * @returns {Node[]} */
export function readNodes(rows) {
  return rows.map((row) => ({
    ...row,
    labels: new Map(Object.entries(row.labels)),
    amounts: new Map(Object.entries(row.amounts)),
  }));
}

export const NO_GROUPS = '';

const ORDER = new Intl.Collator('en', { numeric: true });

/** Sort names with their numbers in numeric order: n2 before n10. @param {string} a @param {string} b */
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

/** Sort nodes without the label last. @param {string | null} a @param {string | null} b */
function compareGroups(a, b) {
  if (a === null || b === null) return Number(a === null) - Number(b === null);
  return compareNames(a, b);
}

/** The labels with the name of a node's pool. The instance type replaces it on nodes without a pool. */
const POOLS = [
  'karpenter.sh/nodepool',
  'eks.amazonaws.com/nodegroup',
  'cloud.google.com/gke-nodepool',
  'kubernetes.azure.com/agentpool',
  'node.kubernetes.io/instance-type',
];
const WELL_KNOWN = ['topology.kubernetes.io/zone', ...POOLS];

/** The node's pool, such as "nodepool: general"; empty if no label has it. @param {Node} node */
export function poolOf({ labels }) {
  const label = POOLS.find((each) => labels.get(each));
  return label ? `${label.split('/')[1]}: ${labels.get(label)}` : '';
}

const SHOWN_CHARACTERS = 4;

/** Return a function that omits the middle of these names if they differ only at the end: eu-c…1a.
 * @param {readonly string[]} names */
export function shortener([first = '', ...others]) {
  let common = others.length ? first.length : 0;
  while (!others.every((name) => name.startsWith(first.slice(0, common)))) common -= 1;
  const end = first.lastIndexOf('-', common - 1) + 1;
  return (/** @type {string} */ name) =>
    end > SHOWN_CHARACTERS + 1 ? `${name.slice(0, SHOWN_CHARACTERS)}…${name.slice(end)}` : name;
}

const MAX_GROUPS = 200;

/** The labels that divide the nodes into groups: well-known ones first, then by the number of groups.
 * A label with a different value on each node, such as the host name, is left out.
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
      else if (found.size <= MAX_GROUPS) found.add(value);
    }
  }
  const most = Math.min(MAX_GROUPS, Math.max(2, count - 1));
  return [...values]
    .filter(([, found]) => found.size <= most || count === 1)
    .sort(([a, x], [b, y]) => rankIn(WELL_KNOWN, a) - rankIn(WELL_KNOWN, b) || x.size - y.size || compareNames(a, b))
    .map(([label]) => label);
}

const COMMON = ['cpu', 'memory', 'pods', 'ephemeral-storage'];

/** The resources that any node has: the common ones, then counted ones, then the others.
 * @param {Iterable<Node>} nodes @param {readonly string[]} counted @returns {string[]} */
export function resourcesOf(nodes, counted) {
  /** @type {Set<string>} */
  const found = new Set(counted);
  for (const node of nodes) for (const name of node.amounts.keys()) found.add(name);
  const first = [...COMMON, ...[...counted].sort(compareNames)];
  return [...found].sort((a, b) => rankIn(first, a) - rankIn(first, b) || compareNames(a, b));
}

/** Sort other names after those of the list. @param {readonly string[]} names @param {string} name */
function rankIn(names, name) {
  return names.indexOf(name) + 1 || names.length + 1;
}

/** @param {Iterable<Node>} nodes @param {string} resource @returns {Use} */
export function useOf(nodes, resource) {
  let used = 0;
  let allocatable = 0;
  for (const node of nodes) {
    const [has, requested] = node.amounts.get(resource) ?? [0, 0];
    allocatable += has;
    used += requested;
  }
  if (allocatable > 0) return { used, allocatable, share: used / allocatable };
  return { used, allocatable, share: used > 0 ? Infinity : null };
}
