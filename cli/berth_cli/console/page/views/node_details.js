// One node: what it has, what is requested of it, its taints and labels.

import { useOf } from '../model/grouping.js';
import { formatAmount, formatShare } from '../model/quantities.js';
import { nodeState } from '../model/rows.js';
import { element } from './elements/dom.js';

/** @typedef {import('../model/cluster.js').Node} Node */

/** @param {HTMLElement} place @param {Node | undefined} node @param {readonly string[]} resources
 * @param {readonly string[]} counted */
export function showNode(place, node, resources, counted) {
  place.hidden = node === undefined;
  if (!node) {
    place.replaceChildren();
    return;
  }
  place.replaceChildren(
    element('h2', {}, node.name),
    element('p', {}, `State: ${nodeState(node)}`),
    resourceTable(node, resources, counted),
    element('h3', {}, 'Taints'),
    node.taints.length ? list(node.taints) : element('p', {}, 'none'),
    element('h3', {}, 'Labels'),
    list([...node.labels].sort().map(([key, value]) => `${key}=${value}`)),
  );
}

/** @param {Node} node @param {readonly string[]} resources @param {readonly string[]} counted */
function resourceTable(node, resources, counted) {
  const rows = resources
    .filter((resource) => node.amounts.has(resource))
    .map((resource) => {
      const use = useOf(node, resource);
      return element(
        'tr',
        {},
        element('th', { scope: 'row' }, counted.includes(resource) ? `${resource} (counted)` : resource),
        element('td', {}, formatAmount(resource, use.used)),
        element('td', {}, formatAmount(resource, use.allocatable)),
        element('td', {}, formatShare(use.share)),
      );
    });
  const heads = ['Resource', 'Requested', 'Allocatable', 'In use'];
  return element(
    'table',
    {},
    element('thead', {}, element('tr', {}, ...heads.map((text) => element('th', { scope: 'col' }, text)))),
    element('tbody', {}, ...rows),
  );
}

/** @param {readonly string[]} texts */
function list(texts) {
  return element('ul', { class: 'texts' }, ...texts.map((text) => element('li', {}, text)));
}
