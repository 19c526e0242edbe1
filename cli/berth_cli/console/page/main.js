// The page: its session, its data, and the address that says what is shown.

import { follow } from './connection/follow.js';
import { Cluster } from './model/cluster.js';
import { formatState, parseState, tokenOf } from './model/url_state.js';
import { NoSession, Session } from './connection/session.js';
import { Decisions } from './views/decisions.js';
import { Doctor } from './views/doctor.js';
import { Gangs } from './views/gangs.js';
import { Health } from './views/health.js';
import { Overview } from './views/overview.js';
import { Pending } from './views/pending.js';
import { Policy } from './views/policy.js';
import { Status } from './views/status.js';

const REDRAW_MS = 250;
const RELOADED = 'berth-console-reloaded';

const cluster = new Cluster();
const session = new Session(localStorage, (input, init) => fetch(input, init));
const status = new Status(/** @type {HTMLElement} */ (document.getElementById('status')), () => performance.now());
const overview = new Overview(document, cluster, go);
const pending = new Pending(document, session, go, (nodes) => overview.map.light(nodes && new Set(nodes)));
const gangs = new Gangs(document, session, go, (nodes) => overview.map.light(nodes && new Set(nodes)));
const decisions = new Decisions(document, session, go, (nodes) => overview.map.light(nodes && new Set(nodes)));
const health = new Health(document, session);
const policy = new Policy(document, session, go);
new Doctor(document, session);

let isPending = false;

/** Another place: a step back returns. What is typed changes the place that is there. @param {Partial<import('./model/url_state.js').State>} change */
function go(change) {
  const next = formatState({ ...parseState(location.hash), ...change });
  if (next === location.hash) return;
  const isTyped = Object.keys(change).join() === 'filter';
  history[isTyped ? 'replaceState' : 'pushState'](null, '', next);
  show();
}

function show() {
  const state = parseState(location.hash);
  for (const link of document.querySelectorAll('#views a')) {
    const isCurrent = link instanceof HTMLElement && link.dataset.view === state.view;
    if (isCurrent) link.setAttribute('aria-current', 'page');
    else link.removeAttribute('aria-current');
  }
  overview.show(state);
  for (const view of ['pending', 'decisions', 'health', 'policy']) {
    /** @type {HTMLElement} */ (document.getElementById(view)).hidden = state.view !== view;
  }
  if (state.view !== 'pending') overview.map.light(null);
  else if (cluster.sequence) pending.show(state);
  // These are of no node: the map would only take room.
  const isAway = state.view === 'health' || state.view === 'policy';
  for (const part of document.querySelectorAll('.on-map')) part.classList.toggle('away', isAway);
  if (cluster.sequence) {
    decisions.show(state);
    gangs.show(state);
    health.show(state.view === 'health');
    policy.show(state);
  }
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

async function start() {
  window.addEventListener('popstate', show);
  window.addEventListener('hashchange', () => (tokenOf(location.hash) ? location.reload() : show()));
  setInterval(() => status.show(), 1000);
  show();
  try {
    if (await session.open(location.hash)) history.replaceState(null, '', formatState(parseState('')));
  } catch (error) {
    if (error instanceof NoSession) return status.set('closed', error.message);
    status.set('disconnected');
  }
  await follow(cluster, session, {
    onLoaded: (source) => {
      pending.outdate();
      status.name = source.name;
      overview.setSource(source.kind);
      sessionStorage.removeItem(RELOADED);
      show();
      performance.mark('berth-nodes-shown');
    },
    onPods: () => {
      show();
      performance.mark('berth-pods-shown');
    },
    onChanged: () => {
      pending.outdate();
      showSoon();
    },
    onCondition: ({ ageSeconds, problem }) => status.setCondition(ageSeconds, problem),
    onWaiting: (reason) => status.set('loading', reason),
    onDisconnected: () => status.set('disconnected'),
    onNoSession: (reason) => status.set('closed', reason),
    onOtherRelease: () => {
      if (sessionStorage.getItem(RELOADED))
        return status.set('closed', 'The console is of another release than this page.');
      sessionStorage.setItem(RELOADED, 'yes');
      location.reload();
    },
  });
}

start();
