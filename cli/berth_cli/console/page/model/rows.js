// The rows of the table beside the map: the same groups, nodes or pods.

import { compareNames, totalUse, useOf } from './grouping.js';
import { DEFECT, NOT_READY, POD_STATES, UNSCHEDULABLE } from './cluster.js';
import { formatAmount, formatShare } from './quantities.js';

/**
 * @typedef {import('./cluster.js').Cluster} Cluster
 * @typedef {import('./cluster.js').Node} Node
 * @typedef {import('./cluster.js').Pod} Pod
 * @typedef {import('./grouping.js').Group} Group
 * @typedef {import('./grouping.js').Use} Use
 *
 * @typedef {object} Column
 * @property {string} key
 * @property {string} title
 * @property {boolean} isNumber aligned at the right
 * @property {'narrow' | 'medium' | 'wide'} room that a table must have to show it
 * @property {number} grow its part of the room beside that of others
 *
 * @typedef {object} Row
 * @property {string} key of what it stands for
 * @property {string[]} texts one for each column
 * @property {(string | number)[]} values to sort by
 * @property {number | null} share for the bar
 * @property {string[]} [search] more texts that the filter finds
 *
 * @typedef {object} Table
 * @property {string} caption
 * @property {Column[]} columns
 * @property {Row[]} rows
 */

/** A column of texts. @param {string} key @param {string} title @param {Column['room']} [room] @param {number} [grow]
 * @returns {Column} */
export function column(key, title, room = 'narrow', grow = 2) {
  return { key, title, isNumber: false, room, grow };
}

/** @param {string} key @param {string} title @param {Column['room']} [room] @returns {Column} */
export function numberColumn(key, title, room = 'narrow') {
  return { key, title, isNumber: true, room, grow: 1 };
}

/** @param {Use} use @param {string} resource */
function useCells(use, resource) {
  const known = use.share !== null;
  return {
    texts: [
      formatShare(use.share),
      known ? formatAmount(resource, use.used) : '',
      known ? formatAmount(resource, use.allocatable) : '',
      known ? formatAmount(resource, use.allocatable - use.used) : '',
    ],
    values: [use.share ?? -1, use.used, use.allocatable, use.allocatable - use.used],
  };
}

const USE_COLUMNS = [
  numberColumn('use', 'In use'),
  numberColumn('used', 'Requested', 'medium'),
  numberColumn('allocatable', 'Allocatable', 'medium'),
  numberColumn('free', 'Free'),
];

/** @param {string | null} value @param {string} label */
export function groupName(value, label) {
  if (value === null) return `without ${label}`;
  return value === '' ? 'all nodes' : value;
}

/** @param {readonly Group[]} groups @param {string} label @param {string} resource @returns {Table} */
export function groupTable(groups, label, resource) {
  return {
    caption: label ? `Groups of nodes by ${label}` : 'All nodes as one group',
    columns: [column('name', label || 'Group'), numberColumn('nodes', 'Nodes'), ...USE_COLUMNS],
    rows: groups.map((group) => {
      const use = totalUse(group.nodes, resource);
      const cells = useCells(use, resource);
      const name = groupName(group.value, label);
      return {
        key: group.value ?? '\u0000',
        texts: [name, String(group.nodes.length), ...cells.texts],
        values: [name, group.nodes.length, ...cells.values],
        share: use.share,
      };
    }),
  };
}

/** @param {Node} node @returns {string} */
export function nodeState(node) {
  const found = [];
  if (node.flags & DEFECT) found.push('unreadable');
  if (node.flags & NOT_READY) found.push('not ready');
  if (node.flags & UNSCHEDULABLE) found.push('unschedulable');
  return found.join(', ') || 'ready';
}

/** @param {readonly Node[]} nodes @param {string} resource @param {string} where @returns {Table} */
export function nodeTable(nodes, resource, where) {
  return {
    caption: `Nodes ${where}`,
    columns: [column('name', 'Node'), ...USE_COLUMNS, numberColumn('pods', 'Pods', 'medium'), column('state', 'State')],
    rows: nodes.map((node) => {
      const use = useOf(node, resource);
      const cells = useCells(use, resource);
      const pods = node.amounts.get('pods')?.used ?? 0;
      const state = nodeState(node);
      return {
        key: node.name,
        texts: [node.name, ...cells.texts, String(pods), state],
        values: [node.name, ...cells.values, pods, state],
        share: use.share,
      };
    }),
  };
}

/** @param {readonly Pod[]} pods @param {string} resource @param {string} where @returns {Table} */
export function podTable(pods, resource, where) {
  return {
    caption: `Pods ${where}`,
    columns: [
      column('name', 'Pod'),
      numberColumn('use', `Requests ${resource}`),
      numberColumn('priority', 'Priority', 'medium'),
      column('state', 'State'),
      column('controller', 'Controller', 'wide'),
      column('gang', 'Gang', 'medium'),
    ],
    rows: pods.map((pod) => {
      const asked = resource === 'pods' ? 1 : (pod.requests.get(resource) ?? 0);
      const name = `${pod.namespace}/${pod.name}`;
      const state = POD_STATES[pod.state] ?? '';
      return {
        key: String(pod.id),
        texts: [name, formatAmount(resource, asked), String(pod.priority), state, pod.controller, pod.gang],
        values: [name, asked, pod.priority, state, pod.controller, pod.gang],
        share: null,
      };
    }),
  };
}

/** The rows with this text in any column or beside them, sorted. @param {Table} table @param {string} sort @param {boolean} descending
 * @param {string} filter @returns {Row[]} */
export function arranged(table, sort, descending, filter) {
  const wanted = filter.trim().toLowerCase();
  const isIn = (/** @type {string} */ text) => text.toLowerCase().includes(wanted);
  const rows = wanted
    ? table.rows.filter((row) => [...row.texts, ...(row.search ?? [])].some((text) => isIn(text)))
    : [...table.rows];
  const at = Math.max(
    0,
    table.columns.findIndex((each) => each.key === sort),
  );
  const sign = descending ? -1 : 1;
  return rows.sort((a, b) => sign * compare(a.values[at], b.values[at]) || compare(a.values[0], b.values[0]));
}

/** @param {string | number} a @param {string | number} b */
function compare(a, b) {
  if (typeof a === 'number' && typeof b === 'number') return a === b ? 0 : a - b;
  return compareNames(String(a), String(b));
}
