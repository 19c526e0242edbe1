// Builds the rows of the tables of groups, nodes and pods, and sorts and filters them.

import { compareNames, useOf } from './grouping.js';
import { formatAmount, formatShare } from './quantities.js';
import { WITHOUT_LABEL } from './url_state.js';

/**
 * @typedef {import('./grouping.js').Node} Node
 * @typedef {import('./grouping.js').Group} Group
 *
 * @typedef {{key: string, title: string, kind: string}} Column kind: its CSS classes; narrow, medium or wide:
 *   the width that the table needs to show the column
 * @typedef {string | number | [string, string | number]} Cell a text, and the value to sort by if it is not the text
 * @typedef {{key: string, texts: string[], values: (string | number)[], share: number | null}} Row share: for the bar
 * @typedef {{caption: string, columns: Column[], rows: Row[]}} Table
 *
 * @typedef {{namespace: string, name: string, state: string, priority: number, controller: string, gang: string,
 *   requests: Record<string, number>}} Pod
 */

/** A column of texts. @param {string} key @param {string} title @param {string} [room] @returns {Column} */
export function column(key, title, room = 'narrow') {
  return { key, title, kind: room };
}

/** @param {string} key @param {string} title @param {string} [room] @returns {Column} */
export function numberColumn(key, title, room = 'narrow') {
  return { key, title, kind: `number ${room}` };
}

/** @param {string} key of the row's object @param {Cell[]} cells @param {number | null} [share] @returns {Row} */
export function rowOf(key, cells, share = null) {
  const pairs = cells.map((cell) => (Array.isArray(cell) ? cell : [cell, cell]));
  return { key, texts: pairs.map(([text]) => String(text)), values: pairs.map(([, value]) => value), share };
}

const USE_COLUMNS = [
  numberColumn('use', 'In use'),
  numberColumn('used', 'Requested', 'medium'),
  numberColumn('allocatable', 'Allocatable', 'medium'),
  numberColumn('free', 'Free'),
];

/** @param {import('./grouping.js').Use} use @param {string} resource @returns {Cell[]} */
function useCells({ share, used, allocatable }, resource) {
  const amounts = [used, allocatable, allocatable - used];
  return [
    [formatShare(share), share ?? -1],
    .../** @type {Cell[]} */ (amounts.map((each) => [share === null ? '' : formatAmount(resource, each), each])),
  ];
}

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
    rows: groups.map(({ value, nodes }) => {
      const use = useOf(nodes, resource);
      const cells = [groupName(value, label), nodes.length, ...useCells(use, resource)];
      return rowOf(value ?? WITHOUT_LABEL, cells, use.share);
    }),
  };
}

/** @param {Node} node @returns {string} */
export function nodeState(node) {
  return node.states.join(', ') || 'ready';
}

/** @param {readonly Node[]} nodes @param {string} resource @param {string} where @returns {Table} */
export function nodeTable(nodes, resource, where) {
  return {
    caption: `Nodes ${where}`,
    columns: [column('name', 'Node'), ...USE_COLUMNS, numberColumn('pods', 'Pods', 'medium'), column('state', 'State')],
    rows: nodes.map((node) => {
      const use = useOf([node], resource);
      const pods = node.amounts.get('pods')?.[1] ?? 0;
      return rowOf(node.name, [node.name, ...useCells(use, resource), pods, nodeState(node)], use.share);
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
    rows: pods.map(({ namespace, name, requests, priority, state, controller, gang }) => {
      const asked = resource === 'pods' ? 1 : (new Map(Object.entries(requests)).get(resource) ?? 0);
      const key = `${namespace}/${name}`;
      return rowOf(key, [key, [formatAmount(resource, asked), asked], priority, state, controller, gang]);
    }),
  };
}

/** The rows with this text in any column, sorted. @param {Table} table
 * @param {{sort: string, order: string, filter: string}} state @returns {Row[]} */
export function arranged({ columns, rows }, { sort, order, filter }) {
  const wanted = filter.trim().toLowerCase();
  const found = rows.filter(({ texts }) => texts.some((text) => text.toLowerCase().includes(wanted)));
  const at = columns.findIndex(({ key }) => key === sort);
  const sign = order === 'descending' ? -1 : 1;
  return found.sort((a, b) => sign * compare(a.values[at], b.values[at]) || compare(a.values[0], b.values[0]));
}

/** @param {string | number} a @param {string | number} b undefined for an unknown column */
function compare(a, b) {
  if (typeof a === 'number' && typeof b === 'number') return a === b ? 0 : a - b;
  return compareNames(String(a), String(b));
}
