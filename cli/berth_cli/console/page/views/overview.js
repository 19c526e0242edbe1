// The overview: the map, and the table that mirrors it. Both show what the address says.

import { NOT_READY, DEFECT, UNSCHEDULABLE } from '../model/cluster.js';
import { stepOf } from '../model/map/colours.js';
import { groupNodes, groupingLabels, NO_GROUPS, resourcesOf, totalUse, useOf } from '../model/grouping.js';
import { formatAmount, formatCount, formatShare } from '../model/quantities.js';
import { arranged, groupName, groupTable, nodeTable, podTable } from '../model/rows.js';
import { ALL, WITHOUT_LABEL } from '../model/url_state.js';
import { element, inputOf, placeOf, selectOf, setOptions, setText } from './elements/dom.js';
import { Grid } from './elements/grid.js';
import { showLegend } from './map/legend.js';
import { showNode } from './node_details.js';
import { NodeMap } from './map/node_map.js';
import { NOT_READY_MARK, UNSCHEDULABLE_MARK } from './map/painter.js';

/**
 * @typedef {import('../model/cluster.js').Cluster} Cluster
 * @typedef {import('../model/cluster.js').Node} Node
 * @typedef {import('../model/grouping.js').Group} Group
 * @typedef {import('../model/rows.js').Table} Table
 * @typedef {import('../model/url_state.js').State} State
 * @typedef {import('./map/node_map.js').Place} Place
 */

const NO_NODES = 'There are no nodes yet. Nodes appear here as soon as the cluster has some.';
const NO_CLUSTER =
  'A berth serve gives out neither nodes nor pods. Start the console with --kubeconfig FILE too, and they are shown here.';
const NO_VALUE = '\u0000';
/** From the last move of the map to the new address: browsers limit how often it changes. */
const MOVED_MS = 250;

export class Overview {
  /** @param {Document} page @param {Cluster} cluster @param {(change: Partial<State>) => void} go
   * @param {(at: string) => void} note where the map was moved by hand */
  constructor(page, cluster, go, note) {
    this.cluster = cluster;
    this.go = go;
    this.note = note;
    this.labelSelect = selectOf(page, 'label');
    this.resourceSelect = selectOf(page, 'resource');
    this.filterInput = inputOf(page, 'filter');
    this.rowsSelect = selectOf(page, 'rows');
    this.rowsField = placeOf(page, 'rows-field');
    this.crumbs = placeOf(page, 'crumbs');
    this.summary = placeOf(page, 'summary');
    this.caption = placeOf(page, 'caption');
    this.tip = placeOf(page, 'tip');
    this.details = placeOf(page, 'details');
    this.tableArea = placeOf(page, 'table-area');
    this.empty = placeOf(page, 'empty');
    setText(this.empty, NO_NODES);
    /** @type {State | null} */
    this.state = null;
    /** @type {Group[]} */
    this.groups = [];
    this.label = NO_GROUPS;
    this.place = '';
    this.at = '';
    this.moving = 0;
    this.mostRequested = 1;
    this.map = new NodeMap(/** @type {HTMLCanvasElement} */ (placeOf(page, 'map')), {
      onOpen: (found) => this.openPlace(found),
      onPoint: (found, x, y) => this.showTip(found, x, y),
      onMove: () => this.noteSoon(),
    });
    this.grid = new Grid(placeOf(page, 'grid'), {
      onOpen: (key) => this.openRow(key),
      onSort: (key) => this.sortBy(key),
      onPoint: (key) => this.map.mark(this.placeOfRow(key)),
    });
    showLegend(placeOf(page, 'legend'));
    this.labelSelect.addEventListener('change', () => go({ label: this.labelSelect.value, group: null, node: '' }));
    this.resourceSelect.addEventListener('change', () => go({ resource: this.resourceSelect.value }));
    this.rowsSelect.addEventListener('change', () =>
      go({ rows: this.rowsSelect.value === 'nodes' ? 'nodes' : 'groups' }),
    );
    this.filterInput.addEventListener('input', () => go({ filter: this.filterInput.value }));
    placeOf(page, 'zoom-in').addEventListener('click', () => this.map.zoomBy(1.6));
    placeOf(page, 'zoom-out').addEventListener('click', () => this.map.zoomBy(1 / 1.6));
    placeOf(page, 'zoom-all').addEventListener('click', () => this.map.moveToAll());
  }

  /** Show this state of the page, or the same with other data. @param {State} state */
  show(state) {
    this.state = state;
    const { cluster } = this;
    const nodes = [...cluster.nodes.values()];
    const labels = groupingLabels(nodes);
    this.label = state.label ?? labels[0] ?? NO_GROUPS;
    this.groups = groupNodes(nodes, this.label);
    const resources = resourcesOf(nodes, cluster.counted);
    setOptions(
      this.labelSelect,
      [NO_GROUPS, ...withChosen(labels, this.label)].map((label) => [label, label || 'no groups']),
      this.label,
    );
    setOptions(
      this.resourceSelect,
      withChosen(resources, state.resource).map((name) => [
        name,
        cluster.counted.includes(name) ? `${name} (counted)` : name,
      ]),
      state.resource,
    );
    if (this.rowsSelect.value !== state.rows) this.rowsSelect.value = state.rows;
    if (this.filterInput.value !== state.filter) this.filterInput.value = state.filter;
    this.empty.hidden = nodes.length > 0 || state.view !== 'overview';
    this.tableArea.hidden = nodes.length === 0 || state.view !== 'overview';
    const group = this.chosenGroup();
    const node = state.node ? cluster.nodeNamed(state.node) : undefined;
    this.rowsField.hidden = group !== undefined || state.node !== '';
    this.mostRequested = this.mostOf(state.resource);
    this.showScene(state.resource);
    this.showCrumbs(state, group);
    this.showTable(state, group, node);
    this.showSummary(nodes, state.resource);
    showNode(this.details, state.view === 'overview' ? node : undefined, resources, cluster.counted);
    this.moveMap(state, group, node);
  }

  /** @returns {Group | undefined} */
  chosenGroup() {
    const wanted = this.state?.group ?? null;
    if (wanted === null) return undefined;
    return this.groups.find((group) => keyOf(group) === wanted);
  }

  /** @param {string} kind what the console reads */
  setSource(kind) {
    setText(this.empty, kind === 'server' ? NO_CLUSTER : NO_NODES);
  }

  /** @param {string} resource */
  showScene(resource) {
    const { cluster } = this;
    this.map.setScene({
      groups: this.groups.map(({ value, nodes }) => ({
        title: groupName(value, this.label),
        ids: nodes.map((node) => node.id),
        names: nodes.map((node) => node.name),
        steps: Int8Array.from(nodes, (node) => {
          const { share } = useOf(node, resource);
          return share === null ? -1 : stepOf(share);
        }),
        marks: Uint8Array.from(nodes, marksOf),
      })),
      podsOf: (id) => cluster.podsOf(id),
      podShare: (pod) => this.asked(pod, resource) / this.mostRequested,
    });
  }

  /** @param {import('../model/cluster.js').Pod} pod @param {string} resource */
  asked(pod, resource) {
    return resource === 'pods' ? 1 : (pod.requests.get(resource) ?? 0);
  }

  /** Pods are coloured beside the pod that requests most. @param {string} resource */
  mostOf(resource) {
    let most = 1;
    if (resource === 'pods') return most;
    for (const pod of this.cluster.pods.values()) most = Math.max(most, pod.requests.get(resource) ?? 0);
    return most;
  }

  /** Only when the address names another place: data must not move what somebody looks at.
   * @param {State} state @param {Group | undefined} group @param {Node | undefined} node */
  moveMap(state, group, node) {
    const at = this.placeOfNode(node) ?? (group ? { group: this.groups.indexOf(group), cell: null } : null);
    this.map.mark(at);
    const place = JSON.stringify([this.label, state.group, state.node, node !== undefined || group !== undefined]);
    if (!this.map.hasSize || (place === this.place && state.at === this.at)) return;
    this.place = place;
    this.at = state.at;
    clearTimeout(this.moving);
    if (state.at) this.map.showAt(state.at);
    else if (!at) this.map.fitAll();
    else if (at.cell === null) this.map.fitGroup(at.group);
    else this.map.fitNode(at.group, at.cell);
  }

  /** The address says where the map is as soon as it stands still. */
  noteSoon() {
    clearTimeout(this.moving);
    this.moving = setTimeout(() => {
      const isDefault = this.map.at === ALL && this.state?.group === null && !this.state.node;
      this.at = isDefault ? '' : this.map.at;
      this.note(this.at);
    }, MOVED_MS);
  }

  /** @param {State} state @param {Group | undefined} group */
  showCrumbs(state, group) {
    /** @type {[string, Partial<State>][]} */
    const steps = [[this.label ? `All groups by ${this.label}` : 'All nodes', { group: null, node: '', filter: '' }]];
    if (state.group !== null) {
      steps.push([group ? groupName(group.value, this.label) : `${state.group} (gone)`, { node: '', filter: '' }]);
    }
    if (state.node) steps.push([state.node, {}]);
    const key = JSON.stringify(steps);
    if (this.crumbs.dataset.key === key) return;
    this.crumbs.dataset.key = key;
    this.crumbs.replaceChildren(
      ...steps.map(([text, change], at) =>
        element(
          'li',
          {},
          at === steps.length - 1
            ? element('span', { 'aria-current': 'location' }, text)
            : element('button', { type: 'button', click: () => this.go(change) }, text),
        ),
      ),
    );
  }

  /** @param {State} state @param {Group | undefined} group @param {Node | undefined} node */
  showTable(state, group, node) {
    const table = this.table(state, group, node);
    const rows = arranged(table, state.sort, state.descending, state.filter);
    const more = state.filter ? `, ${rows.length} of ${table.rows.length} with “${state.filter}”` : `, ${rows.length}`;
    setText(this.caption, table.caption + more);
    this.grid.set({ ...table, rows, sort: state.sort, descending: state.descending, opens: !state.node });
  }

  /** @param {State} state @param {Group | undefined} group @param {Node | undefined} node @returns {Table} */
  table(state, group, node) {
    if (state.node) {
      const where = `on ${state.node}${node ? '' : ' (gone)'}${this.cluster.hasPods ? '' : ' (loading)'}`;
      return podTable(node ? this.cluster.podsOf(node.id) : [], state.resource, where);
    }
    if (state.group !== null) {
      const where = `of ${group ? groupName(group.value, this.label) : `${state.group} (gone)`}`;
      return nodeTable(group?.nodes ?? [], state.resource, where);
    }
    if (state.rows === 'nodes') {
      return nodeTable(
        this.groups.flatMap((each) => each.nodes),
        state.resource,
        'of all groups',
      );
    }
    return groupTable(this.groups, this.label, state.resource);
  }

  /** @param {Node[]} nodes @param {string} resource */
  showSummary(nodes, resource) {
    const use = totalUse(nodes, resource);
    const pods = this.cluster.hasPods ? `, ${formatCount(this.cluster.pods.size, 'pod')}` : '';
    const amounts = `${formatAmount(resource, use.used)} of ${formatAmount(resource, use.allocatable)}`;
    const used = use.share === null ? `no node has ${resource}` : `${resource}: ${formatShare(use.share)} (${amounts})`;
    setText(this.summary, `${formatCount(nodes.length, 'node')}${pods}; ${used}`);
    this.map.canvas.setAttribute(
      'aria-label',
      `Map of ${formatCount(nodes.length, 'node')} in ${formatCount(this.groups.length, 'group')}, coloured by the use of ${resource}. The table below has the same.`,
    );
  }

  // What is opened

  /** @param {Place} place */
  openPlace(place) {
    const group = this.groups[place.group];
    if (!group) return;
    if (place.cell === null) this.go({ group: keyOf(group), node: '', filter: '' });
    else this.go({ group: keyOf(group), node: group.nodes[place.cell].name, filter: '' });
  }

  /** @param {string} key */
  openRow(key) {
    if (this.state?.group !== null || this.state?.rows === 'nodes') {
      const node = this.cluster.nodeNamed(key);
      const group = this.groups.find((each) => node && each.nodes.includes(node));
      if (group) this.go({ group: keyOf(group), node: key, filter: '', sort: 'name', descending: false });
      return;
    }
    this.go({ group: key === NO_VALUE ? WITHOUT_LABEL : key, filter: '', sort: 'name', descending: false });
  }

  /** @param {string} key */
  sortBy(key) {
    const descending = this.state?.sort === key ? !this.state.descending : false;
    this.go({ sort: key, descending });
  }

  /** @param {string | null} key of a row of the table */
  placeOfRow(key) {
    if (key === null || !this.state || this.state.node)
      return this.state?.node ? this.placeOfNode(this.cluster.nodeNamed(this.state.node)) : null;
    if (this.state.group !== null || this.state.rows === 'nodes') return this.placeOfNode(this.cluster.nodeNamed(key));
    const at = this.groups.findIndex((group) => (group.value ?? NO_VALUE) === key);
    return at < 0 ? null : { group: at, cell: null };
  }

  /** @param {Node | undefined} node */
  placeOfNode(node) {
    if (!node) return null;
    for (const [at, group] of this.groups.entries()) {
      const cell = group.nodes.indexOf(node);
      if (cell >= 0) return { group: at, cell };
    }
    return null;
  }

  /** Beside the pointer. The table has the same for those who have none.
   * @param {Place | null} place @param {number} x @param {number} y */
  showTip(place, x, y) {
    const group = place ? this.groups[place.group] : undefined;
    this.tip.hidden = !group;
    if (!place || !group || !this.state) return;
    const { resource } = this.state;
    const node = place.cell === null ? undefined : group.nodes[place.cell];
    const use = node ? useOf(node, resource) : totalUse(group.nodes, resource);
    const name = node ? node.name : `${groupName(group.value, this.label)}, ${group.nodes.length} nodes`;
    const lines = [name];
    if (place.pod) {
      lines.push(
        `${place.pod.namespace}/${place.pod.name} requests ${formatAmount(resource, this.asked(place.pod, resource))}`,
      );
    }
    lines.push(
      use.share === null
        ? `has no ${resource}`
        : `${resource}: ${formatShare(use.share)}, ${formatAmount(resource, use.used)} of ${formatAmount(resource, use.allocatable)}`,
    );
    this.tip.replaceChildren(...lines.map((line) => element('div', {}, line)));
    const room = this.map.picture.width - this.tip.offsetWidth - 4;
    this.tip.style.transform = `translate(${Math.max(0, Math.min(room, x + 14))}px, ${y + 14}px)`;
  }
}

/** As the address names it. @param {Group} group */
function keyOf(group) {
  return group.value ?? WITHOUT_LABEL;
}

/** @param {Node} node */
function marksOf(node) {
  const unschedulable = node.flags & UNSCHEDULABLE ? UNSCHEDULABLE_MARK : 0;
  return unschedulable | (node.flags & (NOT_READY | DEFECT) ? NOT_READY_MARK : 0);
}

/** @param {string[]} values @param {string} chosen */
function withChosen(values, chosen) {
  return chosen === '' || values.includes(chosen) ? values : [...values, chosen];
}
