// What is shown, as the fragment of the address: a link shows the same. The server never sees it.

/** @typedef {typeof DEFAULTS} State */

export const DEFAULTS = {
  view: 'overview',
  label: /** @type {string | null} */ (null), // that groups nodes; null: the first that fits; empty: no groups
  resource: 'cpu',
  group: /** @type {string | null} */ (null), // whose nodes are shown; null: all groups
  node: '', // whose pods are shown
  rows: 'groups', // of the table while no group is chosen
  sort: 'name', // column of the table
  order: 'ascending',
  filter: '',
  category: '', // of pending pods; empty: all
  reason: '', // why pods are pending, or nodes rejected in decisions; empty: any
  verb: '', // of decisions; empty: any
  pod: '', // that is explained, with its namespace
  gang: '', // likewise
  decision: '', // whose nodes are shown
};

export const VIEWS = ['overview', 'pending', 'decisions'];
/** A group of nodes without the label. It is no value that a label can have. */
export const WITHOUT_LABEL = '-without-';
/** Of a text: a name with its namespace has up to 317, and a plugin of a user's own may give reasons of any length. */
export const MAX_CHARACTERS = 1000;

/** @type {Record<string, string[]>} */
const CHOICES = { view: VIEWS, rows: ['groups', 'nodes'], order: ['ascending', 'descending'] };

/** Whatever the fragment has: what is not understood is left out. @param {string} fragment @returns {State} */
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

/** To another view: groups and resource stay, and nothing else. @param {string} view @param {State} state */
export function linkTo(view, { label, resource }) {
  return formatState({ ...DEFAULTS, view, label, resource });
}

/** The one-time token of a new address; null without one. @param {string} fragment @returns {string | null} */
export function tokenOf(fragment) {
  return /^#token=([A-Za-z0-9_-]+)$/.exec(fragment)?.[1] ?? null;
}
