// The overview: the map, and the table that mirrors it. Both show the state in the address.

import { groupingLabels, groupNodes, NO_GROUPS, poolOf, resourcesOf, shortener, useOf } from '../model/grouping.js';
import { formatAmount, formatCount, formatShare } from '../model/quantities.js';
import { arranged, groupName, groupTable, nodeState, nodeTable, podTable } from '../model/rows.js';
import { WITHOUT_LABEL } from '../model/url_state.js';
import { Poller } from '../poller.js';
import { element, fieldOf, placeOf, setChildren, setOptions, setText } from './dom.js';
import { Grid } from './grid.js';
import { list, row, scoreTable, table } from './tables.js';

/**
 * @typedef {import('../model/grouping.js').Node} Node
 * @typedef {import('../model/grouping.js').Group} Group
 * @typedef {import('../model/rows.js').Table} Table
 * @typedef {import('../model/url_state.js').State} State
 */

const PODS_PAUSE_MS = 500;
const MAX_POOLS = 10;

export class Overview {
  /** @param {import('../main.js').Page} page */
  constructor({ session, cluster, map, go }) {
    this.cluster = cluster;
    this.go = go;
    this.label = fieldOf('label', (label) => go({ label, group: null, node: '' }));
    this.resource = fieldOf('resource', (resource) => go({ resource }));
    this.rows = fieldOf('rows', (rows) => go({ rows }));
    this.filter = fieldOf('filter', (filter) => go({ filter }));
    this.map = map;
    this.grid = new Grid('grid', (key) => this.open(key), go);
    /** @type {State | null} */
    this.state = null;
    /** @type {Group[]} */
    this.groups = [];
    /** @type {{node: string, pods: import('../model/rows.js').Pod[]}} */
    this.pods = { node: '', pods: [] };
    this.poller = new Poller(session, {
      path: () => (this.state?.node ? `/api/pods?node=${encodeURIComponent(this.state.node)}` : ''),
      state: () => cluster.sequence,
      pauseMs: PODS_PAUSE_MS,
      onAnswer: ({ pods }) => this.showPods(pods),
      onRefusal: () => {},
    });
  }

  /** Show this state of the page, or the same state with other data. @param {State} state */
  show(state) {
    const { nodes, counted, pools } = this.cluster;
    this.state = state.view === 'overview' ? state : null;
    this.poller.wake();
    const labels = groupingLabels(nodes);
    const label = state.label ?? labels[0] ?? NO_GROUPS;
    const resources = resourcesOf(nodes, counted);
    this.groups = groupNodes(nodes, label);
    const named = resources.map((name) => [name, counted.includes(name) ? `${name} (counted)` : name]);
    setOptions(this.label, [[NO_GROUPS, 'no groups'], ...labels.map((each) => [each, each])], label);
    setOptions(this.resource, named, state.resource);
    this.showMap(state, label);
    this.showCrumbs(state, label);
    placeOf('empty').hidden = nodes.length > 0 || !this.state;
    placeOf('overview').hidden = !nodes.length || !this.state;
    if (!this.state) return;
    placeOf('rows-field').hidden = state.group !== null || state.node !== '';
    if (this.rows.value !== state.rows) this.rows.value = state.rows;
    if (this.filter.value !== state.filter) this.filter.value = state.filter;
    this.showTable(state, label);
    this.showNode(this.nodeNamed(state.node), resources);
    const shown = pools.slice(0, MAX_POOLS).map(({ pool, capacity, held, waiting }) => {
      const share = Math.min(1, held / Math.max(1, capacity));
      return { node: pool, score: `${held} of ${capacity}`, share, parts: { waiting } };
    });
    placeOf('pools').hidden = !shown.length || state.node !== '';
    placeOf('pools').replaceChildren(scoreTable(['Floating pool', 'Held', 'Pods'], shown));
  }

  /** @param {string} name @returns {Node | undefined} */
  nodeNamed(name) {
    return this.cluster.nodes.find((node) => node.name === name);
  }

  /** @param {string | null} key @returns {Group | undefined} */
  groupOf(key) {
    return this.groups.find((group) => keyOf(group) === key);
  }

  /** @param {State} state @param {string} label */
  showMap({ resource, node, group }, label) {
    const { nodes, pods } = this.cluster;
    const count = formatCount(nodes.length, 'node');
    setText(placeOf('summary'), `${count}, ${formatCount(pods, 'pod')}; ${useText(resource, useOf(nodes, resource))}`);
    const shown = group === null ? this.groups : this.groups.filter((each) => keyOf(each) === group);
    const shorten = shortener(this.groups.flatMap(({ value }) => value ?? []));
    const groups = shown.map((each) => ({
      key: keyOf(each),
      title: groupName(each.value, label),
      short: each.value ? shorten(each.value) : groupName(each.value, label),
      nodes: each.nodes.map((found) => {
        const use = useOf([found], resource);
        const states = found.states.length ? ` (${nodeState(found)})` : '';
        const lines = [`${found.name}${states}`, poolOf(found), useText(resource, use)].filter(Boolean);
        return { ...found, share: use.share, title: lines.join('\n') };
      }),
    }));
    const what = `${count} in ${formatCount(this.groups.length, 'group')}`;
    this.map.show(groups, node, `Map of ${what}, colored by the use of ${resource}. The table has the same.`);
  }

  /** @param {State} state @param {string} label */
  showCrumbs({ group, node }, label) {
    /** @type {[string, Partial<State>][]} */
    const steps = [[label ? `All groups by ${label}` : 'All nodes', { group: null, node: '', filter: '' }]];
    if (group !== null) steps.push([this.groupText(group, label), { node: '', filter: '' }]);
    if (node) steps.push([node, {}]);
    const last = steps.at(-1);
    setChildren(
      placeOf('crumbs'),
      steps,
      (step) => JSON.stringify([step, step === last]),
      (step) => {
        const [text, change] = step;
        if (step === last) return element('li', { 'aria-current': 'location' }, text);
        const click = () => this.go(change);
        return element('li', {}, element('button', { type: 'button', class: 'link', click }, text));
      },
    );
  }

  /** @param {string} key @param {string} label */
  groupText(key, label) {
    const group = this.groupOf(key);
    return group ? groupName(group.value, label) : `${key} (gone)`;
  }

  /** @param {State} state @param {string} label */
  showTable(state, label) {
    const content = this.table(state, label);
    const rows = arranged(content, state);
    const all = content.rows.length;
    const more = state.filter ? `${rows.length} of ${all} with “${state.filter}”` : all;
    setText(placeOf('overview-caption'), `${content.caption}, ${more}`);
    this.grid.set({ ...content, rows }, state);
  }

  /** @param {State} state @param {string} label @returns {Table} */
  table({ node, group, rows, resource }, label) {
    if (node) {
      const isGone = !this.nodeNamed(node);
      return podTable(this.pods.node === node ? this.pods.pods : [], resource, `on ${node}${isGone ? ' (gone)' : ''}`);
    }
    if (group !== null)
      return nodeTable(this.groupOf(group)?.nodes ?? [], resource, `of ${this.groupText(group, label)}`);
    if (rows === 'nodes') return nodeTable(this.cluster.nodes, resource, 'of all groups');
    return groupTable(this.groups, label, resource);
  }

  /** @param {import('../model/rows.js').Pod[]} pods */
  showPods(pods) {
    if (!this.state) return;
    this.pods = { node: this.state.node, pods };
    this.show(this.state);
  }

  /** Show a node's resources, the requests on it, its taints and labels. @param {Node | undefined} node
   * @param {readonly string[]} resources */
  showNode(node, resources) {
    const place = placeOf('details');
    place.hidden = !node;
    if (!node) return;
    const rows = resources
      .filter((name) => node.amounts.has(name))
      .map((name) => {
        const { used, allocatable, share } = useOf([node], name);
        return row([name, formatAmount(name, used), formatAmount(name, allocatable), formatShare(share)]);
      });
    place.replaceChildren(
      element('h2', {}, node.name),
      ...[`State: ${nodeState(node)}`, poolOf(node)].filter(Boolean).map((text) => element('p', {}, text)),
      table(['Resource', 'Requested', 'Allocatable', 'In use'], rows),
      element('h3', {}, 'Taints'),
      node.taints.length ? list(node.taints, 'texts') : element('p', {}, 'none'),
      element('h3', {}, 'Labels'),
      list(
        [...node.labels].sort().map(([key, value]) => `${key}=${value}`),
        'texts',
      ),
    );
  }

  /** @param {string} key of a row */
  open(key) {
    const { node, group, rows } = /** @type {State} */ (this.state);
    if (node) return;
    const first = { filter: '', sort: 'name', order: 'ascending' };
    if (group === null && rows === 'groups') return this.go({ ...first, group: key });
    const found = this.groups.find(({ nodes }) => nodes.some(({ name }) => name === key));
    if (found) this.go({ ...first, group: keyOf(found), node: key });
  }
}

/** @param {string} resource @param {import('../model/grouping.js').Use} use */
function useText(resource, { share, used, allocatable }) {
  if (share === null) return `no ${resource}`;
  return `${resource}: ${formatShare(share)} (${formatAmount(resource, used)} of ${formatAmount(resource, allocatable)})`;
}

/** The name of a group in the address. @param {Group} group */
function keyOf(group) {
  return group.value ?? WITHOUT_LABEL;
}
