// The page: its session, its data, and the address that says what is shown.

import { BrowserKey, pairStore } from './connection/browser_key.js';
import { follow } from './connection/follow.js';
import { newKey, Session } from './connection/session.js';
import { Cluster } from './model/cluster.js';
import { changed, formatState, linkTo, parseState, tokenOf } from './model/url_state.js';
import { Decisions } from './views/decisions.js';
import { Doctor } from './views/doctor.js';
import { placeOf, setAttributes, setText } from './views/elements/dom.js';
import { Gangs } from './views/gangs.js';
import { Health } from './views/health.js';
import { Highlight } from './views/highlight.js';
import { Overview } from './views/overview.js';
import { Pending } from './views/pending.js';
import { Policy } from './views/policy.js';
import { Status } from './views/status.js';

const REDRAW_MS = 250;
const RELOADED = 'berth-console-reloaded';

const cluster = new Cluster();
const browserKey = new BrowserKey(pairStore(indexedDB), crypto.subtle, location.origin);
const session = new Session(localStorage, (input, init) => fetch(input, init), browserKey);
const status = new Status(placeOf(document, 'status'), () => performance.now());
const overview = new Overview(document, cluster, go, note);
const highlight = new Highlight((names) => overview.map.light(names));
const pending = new Pending(document, session, go, highlight);
const gangs = new Gangs(document, session, go, highlight);
const decisions = new Decisions(document, session, go, highlight);
const health = new Health(document, session);
const policy = new Policy(document, session, go);
new Doctor(document, session);

let isPending = false;
let shownView = '';

/** Another place: a step back returns. What is typed changes the place that is there. @param {Partial<import('./model/url_state.js').State>} change */
function go(change) {
  const next = formatState(changed(parseState(location.hash), change));
  if (next === location.hash) return;
  const isTyped = Object.keys(change).join() === 'filter';
  history[isTyped ? 'replaceState' : 'pushState'](null, '', next);
  show();
}

/** Nothing else is drawn: it is on the screen. @param {string} at where the map was moved by hand */
function note(at) {
  const state = { ...parseState(location.hash), at };
  history.replaceState(null, '', formatState(state));
  showLinks(state);
}

/** @param {import('./model/url_state.js').State} state */
function showLinks(state) {
  for (const link of document.querySelectorAll('#views a')) {
    if (!(link instanceof HTMLElement) || !link.dataset.view) continue;
    setAttributes(link, {
      href: linkTo(link.dataset.view, state),
      'aria-current': link.dataset.view === state.view ? 'page' : null,
    });
  }
}

function show() {
  const state = parseState(location.hash);
  const hasState = cluster.sequence > 0;
  const isFirst = hasState && document.body.dataset.phase !== 'shown';
  document.body.dataset.phase = hasState ? 'shown' : 'start';
  document.body.dataset.view = state.view;
  showLinks(state);
  for (const view of ['pending', 'decisions', 'health', 'policy']) {
    placeOf(document, view).hidden = state.view !== view;
  }
  // Health and policy are of no node: the map would only take room.
  const panel = placeOf(document, 'map-panel');
  const wasHidden = panel.hidden;
  panel.hidden = state.view === 'health' || state.view === 'policy' || !cluster.nodes.size;
  if (!hasState) return;
  if (isFirst || (wasHidden && !panel.hidden)) overview.map.resize();
  if (state.view !== shownView) highlight.clear();
  shownView = state.view;
  overview.show(state);
  pending.show(state);
  gangs.show(state);
  decisions.show(state);
  health.show(state.view === 'health');
  policy.show(state);
}

/** Many changes in a row are shown together. */
function showSoon() {
  if (isPending) return;
  isPending = true;
  setTimeout(() => {
    isPending = false;
    show();
  }, REDRAW_MS);
}

/** Past the views and the map. */
function skip() {
  const { view } = parseState(location.hash);
  if (view === 'overview') overview.grid.focus();
  else placeOf(document, `${view}-caption`).focus();
}

function outdate() {
  pending.outdate();
  gangs.outdate();
}

/** @param {Parameters<typeof status.tell>[0]} change */
function tell(change) {
  status.tell(change);
  setText(placeOf(document, 'start'), status.freshness.sentence);
}

/** One frame draws what was shown; when the next one begins, it is on the screen. @param {string} name */
function markWhenDrawn(name) {
  requestAnimationFrame(() => requestAnimationFrame(() => performance.mark(name)));
}

/** @param {boolean} isPrinting paper is white: what is drawn has the colours of the light page there */
function setPrinting(isPrinting) {
  document.documentElement.classList.toggle('printing', isPrinting);
  overview.map.draw();
  health.drawCharts();
}

/** @type {import('./connection/follow.js').Listener} */
const LISTENER = {
  onSession: (isNew) => {
    if (isNew) history.replaceState(null, '', formatState(parseState('')));
  },
  onLoaded: (source) => {
    outdate();
    sessionStorage.removeItem(RELOADED);
    tell((freshness) => (freshness.name = source.name));
    overview.setSource(source.kind);
    show();
    markWhenDrawn('berth-nodes-shown');
  },
  onPods: () => {
    show();
    markWhenDrawn('berth-pods-shown');
  },
  onChanged: () => {
    outdate();
    showSoon();
  },
  onCondition: (condition) => tell((freshness) => freshness.observe(condition)),
  onWaiting: (reason) => tell((freshness) => freshness.wait(reason)),
  onDisconnected: () => tell((freshness) => freshness.disconnect()),
  onNoSession: (reason) => tell((freshness) => freshness.close(reason)),
  onOtherRelease: () => {
    if (sessionStorage.getItem(RELOADED))
      return tell((freshness) => freshness.close('The console is of another release than this page.'));
    sessionStorage.setItem(RELOADED, 'yes');
    location.reload();
  },
};

async function start() {
  placeOf(document, 'skip').addEventListener('click', skip);
  window.addEventListener('popstate', show);
  window.addEventListener('hashchange', () => (tokenOf(location.hash) ? location.reload() : show()));
  window.addEventListener('beforeprint', () => setPrinting(true));
  window.addEventListener('afterprint', () => setPrinting(false));
  setInterval(() => tell(() => {}), 1000);
  show();
  for (;;) {
    await follow(location.hash, cluster, session, LISTENER);
    // The new address may be opened in another tab.
    await newKey(window);
  }
}

start();
