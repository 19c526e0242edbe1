// What is shown, as the fragment of the address: a link shows the same. The server never sees it.

/**
 * @typedef {object} State
 * @property {string} view
 * @property {string | null} label that groups; null: the first that fits; empty: no groups
 * @property {string} resource
 * @property {string | null} group whose nodes are shown; null: all groups
 * @property {string} node whose pods are shown; empty: none
 * @property {'groups' | 'nodes'} rows of the table while no group is chosen
 * @property {string} sort column of the table
 * @property {boolean} descending
 * @property {string} filter
 * @property {string} category of pending pods; empty: all
 * @property {string} reason why pods are pending, or nodes rejected in decisions; empty: any
 * @property {string} verb of decisions; empty: any
 * @property {string} pod that is explained, with its namespace; empty: none
 * @property {string} gang that is explained, with its namespace; empty: none
 * @property {string} decision number and time of the decision whose nodes are shown; empty: none
 * @property {string} at where the map was moved by hand, as viewText names it, or ALL; empty: where group and node say
 */

/** A group of nodes without the label. It is no value that a label can have. */
export const WITHOUT_LABEL = '-without-';

/** @type {Readonly<State>} */
export const DEFAULTS = Object.freeze({
  view: 'overview',
  label: null,
  resource: 'cpu',
  group: null,
  node: '',
  rows: 'groups',
  sort: 'name',
  descending: false,
  filter: '',
  category: '',
  reason: '',
  verb: '',
  pod: '',
  gang: '',
  decision: '',
  at: '',
});

/** All groups, also where one is chosen. */
export const ALL = 'all';
const AT = /^(all|-?\d{1,6}(\.\d{1,2})?,-?\d{1,6}(\.\d{1,2})?,(?!0+(\.0+)?$)\d{1,3}(\.\d{1,2})?)$/;

export const VIEWS = ['overview', 'pending', 'decisions', 'health', 'policy'];
/** Of a text: a name with its namespace has up to 317, and a plugin of a user's own may give reasons of any length. */
export const MOST_CHARACTERS = 1000;

const TEXTS = /** @type {const} */ (['filter', 'category', 'reason', 'verb', 'pod', 'gang', 'decision', 'at']);

/** Whatever the fragment has: what is not understood is left out.
 * @param {string} fragment @returns {State} */
export function parseState(fragment) {
  const [path, query = ''] = fragment.replace(/^#\/?/, '').split('?', 2);
  const given = new URLSearchParams(query);
  const text = (/** @type {string} */ name) => (given.get(name) ?? '').slice(0, MOST_CHARACTERS);
  return {
    view: VIEWS.includes(path) ? path : DEFAULTS.view,
    label: given.has('label') ? text('label') : DEFAULTS.label,
    resource: text('resource') || DEFAULTS.resource,
    group: given.has('group') ? text('group') : DEFAULTS.group,
    node: text('node'),
    rows: given.get('rows') === 'nodes' ? 'nodes' : 'groups',
    sort: text('sort') || DEFAULTS.sort,
    descending: given.get('order') === 'descending',
    filter: text('filter'),
    category: text('category'),
    reason: text('reason'),
    verb: text('verb'),
    pod: text('pod'),
    gang: text('gang'),
    decision: text('decision'),
    at: AT.test(text('at')) ? text('at') : DEFAULTS.at,
  };
}

/** Another group or node is where the map shows it. @param {State} state @param {Partial<State>} change @returns {State} */
export function changed(state, change) {
  const isElsewhere = 'label' in change || 'group' in change || 'node' in change;
  return { ...state, ...(isElsewhere ? { at: DEFAULTS.at } : {}), ...change };
}

/** To another view: what the map shows stays, and nothing else. @param {string} view @param {State} state */
export function linkTo(view, { label, resource, at }) {
  return formatState({ ...DEFAULTS, view, label, resource, at: at === ALL ? DEFAULTS.at : at });
}

/** @param {State} state @returns {string} */
export function formatState(state) {
  const query = new URLSearchParams();
  if (state.label !== null) query.set('label', state.label);
  if (state.resource !== DEFAULTS.resource) query.set('resource', state.resource);
  if (state.group !== null) query.set('group', state.group);
  if (state.node) query.set('node', state.node);
  if (state.rows !== DEFAULTS.rows) query.set('rows', state.rows);
  if (state.sort !== DEFAULTS.sort) query.set('sort', state.sort);
  if (state.descending) query.set('order', 'descending');
  for (const name of TEXTS) {
    if (state[name]) query.set(name, state[name]);
  }
  const text = query.toString();
  return `#/${state.view}${text ? `?${text}` : ''}`;
}

/** The one-time token of a new address; null without one. @param {string} fragment @returns {string | null} */
export function tokenOf(fragment) {
  return /^#token=([A-Za-z0-9_-]+)$/.exec(fragment)?.[1] ?? null;
}
