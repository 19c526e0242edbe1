// The cluster as the page has it: decoded from the server's tables, and changed by its changes.
// Texts stay texts: nothing here is ever read as markup.

/**
 * @typedef {object} NodeTable
 * @property {string[]} strings
 * @property {number[]} id
 * @property {string[]} name
 * @property {number[]} flags
 * @property {number[]} labels
 * @property {number[]} labelEnds
 * @property {number[]} taints
 * @property {number[]} taintEnds
 * @property {number[]} amounts
 * @property {number[]} amountEnds
 *
 * @typedef {object} PodTable
 * @property {string[]} strings
 * @property {number[][]} requestLists
 * @property {number[]} id
 * @property {string[]} name
 * @property {number[]} namespace
 * @property {number[]} node
 * @property {number[]} state
 * @property {number[]} priority
 * @property {number[]} controller
 * @property {number[]} scheduler
 * @property {number[]} gang
 * @property {number[]} requests
 *
 * @typedef {object} Change
 * @property {number} sequence
 * @property {string[]} counted
 * @property {{gone: number[], changed: NodeTable}} nodes
 * @property {{gone: number[], changed: PodTable}} pods
 *
 * @typedef {object} Amount
 * @property {number} allocatable
 * @property {number} used
 *
 * @typedef {object} Node
 * @property {number} id
 * @property {string} name
 * @property {number} flags
 * @property {Map<string, string>} labels
 * @property {string[]} taints
 * @property {Map<string, Amount>} amounts
 *
 * @typedef {object} Pod
 * @property {number} id
 * @property {string} name
 * @property {string} namespace
 * @property {number} node
 * @property {number} state
 * @property {number} priority
 * @property {string} controller
 * @property {string} scheduler
 * @property {string} gang
 * @property {Map<string, number>} requests
 */

export const NOT_READY = 1;
export const UNSCHEDULABLE = 2;
export const DEFECT = 4;

export const POD_STATES = ['on its node', 'pending', 'gated', 'terminating', 'on an unknown node'];
export const PENDING = 1;
export const GATED = 2;

/** @type {readonly Pod[]} */
const NO_PODS = [];

/** @param {NodeTable} table @returns {Node[]} */
export function readNodes(table) {
  const { strings } = table;
  return table.id.map((id, row) => {
    /** @type {Map<string, string>} */
    const labels = new Map();
    for (let at = start(table.labelEnds, row); at < table.labelEnds[row]; at += 2) {
      labels.set(strings[table.labels[at]], strings[table.labels[at + 1]]);
    }
    /** @type {Map<string, Amount>} */
    const amounts = new Map();
    for (let at = start(table.amountEnds, row); at < table.amountEnds[row]; at += 3) {
      amounts.set(strings[table.amounts[at]], { allocatable: table.amounts[at + 1], used: table.amounts[at + 2] });
    }
    const taints = table.taints.slice(start(table.taintEnds, row), table.taintEnds[row]).map((at) => strings[at]);
    return { id, name: table.name[row], flags: table.flags[row], labels, taints, amounts };
  });
}

/** @param {PodTable} table @returns {Pod[]} */
export function readPods(table) {
  const { strings } = table;
  const requests = table.requestLists.map((list) => {
    /** @type {Map<string, number>} */
    const found = new Map();
    for (let at = 0; at < list.length; at += 2) found.set(strings[list[at]], list[at + 1]);
    return found;
  });
  return table.id.map((id, row) => ({
    id,
    name: table.name[row],
    namespace: strings[table.namespace[row]],
    node: table.node[row],
    state: table.state[row],
    priority: table.priority[row],
    controller: strings[table.controller[row]],
    scheduler: strings[table.scheduler[row]],
    gang: strings[table.gang[row]],
    requests: requests[table.requests[row]],
  }));
}

/** @param {number[]} ends @param {number} row */
function start(ends, row) {
  return row ? ends[row - 1] : 0;
}

/** Nodes and pods by id. Pods are loaded after nodes, so that nodes are painted first. */
export class Cluster {
  constructor() {
    this.sequence = 0;
    this.hasPods = false;
    this.podsSequence = 0;
    /** @type {string[]} */
    this.counted = [];
    /** @type {Map<number, Node>} */
    this.nodes = new Map();
    /** @type {Map<number, Pod>} */
    this.pods = new Map();
    /** @type {Map<number, Map<number, Pod>>} */
    this.podsByNode = new Map();
    /** @type {Change[]} */
    this.withoutPods = [];
  }

  /** @param {NodeTable} table @param {number} sequence @param {string[]} counted */
  loadNodes(table, sequence, counted) {
    this.sequence = sequence;
    this.counted = counted;
    this.hasPods = false;
    this.withoutPods = [];
    this.nodes = new Map(readNodes(table).map((node) => [node.id, node]));
    this.pods = new Map();
    this.podsByNode = new Map();
  }

  /** The pods may be of a later state than the nodes: then the changes up to it have been, or will be, applied.
   * @param {PodTable} table @param {number} sequence */
  loadPods(table, sequence) {
    this.pods = new Map();
    this.podsByNode = new Map();
    for (const pod of readPods(table)) this.putPod(pod);
    this.hasPods = true;
    this.podsSequence = sequence;
    for (const change of this.withoutPods) this.applyPods(change);
    this.withoutPods = [];
  }

  /** @param {Change} change @returns {boolean} false where it does not follow: the whole state has to be read. */
  apply(change) {
    if (change.sequence !== this.sequence + 1) return false;
    this.sequence = change.sequence;
    this.counted = change.counted;
    for (const id of change.nodes.gone) this.nodes.delete(id);
    for (const node of readNodes(change.nodes.changed)) this.nodes.set(node.id, node);
    if (this.hasPods) this.applyPods(change);
    else this.withoutPods.push(change);
    return true;
  }

  /** @param {Change} change */
  applyPods(change) {
    if (change.sequence <= this.podsSequence) return;
    for (const id of change.pods.gone) this.removePod(id);
    for (const pod of readPods(change.pods.changed)) {
      this.removePod(pod.id);
      this.putPod(pod);
    }
  }

  /** @param {number} node @returns {readonly Pod[]} */
  podsOf(node) {
    const found = this.podsByNode.get(node);
    return found ? [...found.values()] : NO_PODS;
  }

  /** @param {Pod} pod */
  putPod(pod) {
    this.pods.set(pod.id, pod);
    let found = this.podsByNode.get(pod.node);
    if (!found) this.podsByNode.set(pod.node, (found = new Map()));
    found.set(pod.id, pod);
  }

  /** @param {number} id */
  removePod(id) {
    const known = this.pods.get(id);
    if (!known) return;
    this.pods.delete(id);
    const found = this.podsByNode.get(known.node);
    found?.delete(id);
    if (found?.size === 0) this.podsByNode.delete(known.node);
  }

  /** @param {string} name @returns {Node | undefined} */
  nodeNamed(name) {
    for (const node of this.nodes.values()) if (node.name === name) return node;
    return undefined;
  }
}
