// The page: its session, its data, and its address, which contains the state of the page.

import { Freshness } from './model/freshness.js';
import { readNodes } from './model/grouping.js';
import { formatState, linkTo, parseState, tokenOf } from './model/url_state.js';
import { Poller } from './poller.js';
import { NoSession, Refused, Session } from './session.js';
import { Decisions } from './views/decisions.js';
import { placeOf, setAttributes, setText } from './views/dom.js';
import { Highlight } from './views/highlight.js';
import { NodeMap } from './views/map.js';
import { Overview } from './views/overview.js';
import { Pending } from './views/pending.js';

/**
 * @typedef {object} Page the objects that all views share
 * @property {Session} session
 * @property {{sequence: number, pods: number, pending: number, counted: string[], pools: {pool: string, capacity: number, held: number, waiting: number}[], nodes: import('./model/grouping.js').Node[]}} cluster
 * @property {NodeMap} map
 * @property {Highlight} highlight
 * @property {(change: Partial<import('./model/url_state.js').State>) => void} go
 */

/** The version of the server's documents. */
const VERSION = 2;
const RELOADED = 'berth-console-reloaded';
const POLL_MS = 500;

const session = new Session(localStorage, (input, init) => fetch(input, init));
const freshness = new Freshness(() => performance.now());
const cluster = { sequence: 0, pods: 0, pending: 0, counted: [], pools: [], nodes: [] };
const map = new NodeMap((group, node) => go({ group, node, filter: '' }));
const highlight = new Highlight((names) => map.light(names));
/** @type {Page} */
const page = { session, cluster, map, highlight, go };
/** @type {Record<string, {show: (state: import('./model/url_state.js').State) => void}>} */
const views = { overview: new Overview(page), pending: new Pending(page), decisions: new Decisions(page) };
let shownView = '';

/** Go to another state, as a new entry of the browser's history. Typed text changes the current entry.
 * @param {Partial<import('./model/url_state.js').State>} change */
function go(change) {
  const next = formatState({ ...parseState(location.hash), ...change });
  if (next === location.hash) return;
  history[Object.keys(change).join() === 'filter' ? 'replaceState' : 'pushState'](null, '', next);
  show();
}

function show() {
  const state = parseState(location.hash);
  document.body.dataset.phase = cluster.sequence ? 'shown' : 'start';
  document.body.dataset.view = state.view;
  for (const link of document.querySelectorAll('#views a')) {
    const { view = '' } = /** @type {HTMLElement} */ (link).dataset;
    setAttributes(link, { href: linkTo(view, state), 'aria-current': view === state.view && 'page' });
  }
  if (!cluster.sequence) return;
  setText(placeOf('pending-count'), `${cluster.pending || ''}`);
  placeOf('map-panel').hidden = !cluster.nodes.length;
  if (state.view !== shownView) highlight.clear();
  shownView = state.view;
  for (const [name, view] of Object.entries(views)) {
    placeOf(name).hidden = name !== state.view;
    view.show(state);
  }
}

/** Show the line about the freshness of the page. */
function tell() {
  const { kind, sentence } = freshness;
  setAttributes(placeOf('status'), { 'data-kind': kind });
  setText(placeOf('status'), sentence);
  setText(placeOf('start'), sentence);
}

/** @param {any} content */
function receive({ version, source, nodes, ...content }) {
  if (version !== VERSION) return reload();
  sessionStorage.removeItem(RELOADED);
  freshness.observe(content);
  if (nodes) {
    freshness.name = source;
    Object.assign(cluster, content, { nodes: readNodes(nodes) });
    show();
  }
  tell();
}

/** Reload the page if the console has another release. */
function reload() {
  if (sessionStorage.getItem(RELOADED)) return;
  sessionStorage.setItem(RELOADED, 'yes');
  location.reload();
}

/** @param {unknown} error */
function lose(error) {
  if (error instanceof NoSession) freshness.lose('closed', error.message);
  else if (error instanceof Refused) freshness.lose('loading', error.message);
  else freshness.lose('disconnected', '');
  tell();
}

async function start() {
  // On a phone, show the answer on the first screen.
  placeOf('map-fold').open = !matchMedia('(max-width: 30rem)').matches;
  placeOf('skip').addEventListener('click', () => {
    const row = document.querySelector(`#${shownView} .grid-body [tabindex="0"]`);
    /** @type {HTMLElement} */ (row ?? placeOf(`${shownView}-caption`)).focus();
  });
  window.addEventListener('popstate', show);
  window.addEventListener('hashchange', () => (tokenOf(location.hash) ? location.reload() : show()));
  setInterval(tell, 1000);
  show();
  tell();
  if (await session.open(location.hash).catch(lose)) history.replaceState(null, '', formatState(parseState('')));
  const path = () => `/api/cluster?since=${cluster.sequence}`;
  const onRefusal = (/** @type {string} */ reason) => lose(new Refused(0, reason));
  new Poller(session, { path, pauseMs: POLL_MS, onAnswer: receive, onRefusal, onLost: lose });
}

start();
