// The state of the page as the fragment of the address: a link shows the same state. The server never sees it.

/** @typedef {typeof DEFAULTS} State */

export const DEFAULTS = {
  view: 'overview',
  label: /** @type {string | null} */ (null), // label that groups nodes; null: the first that fits; empty: no groups
  resource: 'cpu',
  group: /** @type {string | null} */ (null), // the group whose nodes are shown; null: all groups
  node: '', // the node whose pods are shown
  rows: 'groups', // the rows of the table while no group is chosen
  sort: 'name', // column of the table
  order: 'ascending',
  filter: '',
  category: '', // of pending pods; empty: all
  reason: '', // why pods are pending, or nodes rejected in decisions; empty: any
  verb: '', // of decisions; empty: any
  pod: '', // the pod that is explained, with its namespace
  gang: '', // the gang that is explained, with its namespace
  decision: '', // the decision whose nodes are shown
};

export const VIEWS = ['overview', 'pending', 'decisions'];
/** A group of nodes without the label. A label cannot have this value. */
export const WITHOUT_LABEL = '-without-';
/** The maximum length of a text: names with a namespace have up to 317 characters, and plugins' reasons any number. */
export const MAX_CHARACTERS = 1000;

/** @type {Record<string, string[]>} */
const CHOICES = { view: VIEWS, rows: ['groups', 'nodes'], order: ['ascending', 'descending'] };

/** Parse any fragment: unknown parts are left out. @param {string} fragment @returns {State} */
export function parseState(fragment) {
  const [path, query = ''] = fragment.replace(/^#\/?/, '').split('?', 2);
  const given = new URLSearchParams(query);
  given.set('view', path);
  const found = Object.entries(DEFAULTS).map(([name, value]) => {
    const text = given.get(name)?.slice(0, MAX_CHARACTERS);
    const isUnderstood = text !== undefined && (text || !value) && (CHOICES[name]?.includes(text) ?? true);
    return [name, isUnderstood ? text : value];
  });
  return /** @type {State} */ (Object.fromEntries(found));
}

/** @param {State} state @returns {string} */
export function formatState({ view, ...others }) {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(others)) {
    if (value !== null && value !== DEFAULTS[/** @type {keyof State} */ (name)]) query.set(name, value);
  }
  const text = query.toString();
  return `#/${view}${text ? `?${text}` : ''}`;
}

/** Change to another view: only groups and resource stay. @param {string} view @param {State} state */
export function linkTo(view, { label, resource }) {
  return formatState({ ...DEFAULTS, view, label, resource });
}

/** The one-time token of a new address; null without one. @param {string} fragment @returns {string | null} */
export function tokenOf(fragment) {
  return /^#token=([A-Za-z0-9_-]+)$/.exec(fragment)?.[1] ?? null;
}
