// Pending pods by reason, beside the map: a reason lights up the nodes that it rejects.

import { Polling } from '../connection/polling.js';
import { byCategory, captionOf, CATEGORIES, nodesOf, pendingTable, reasonsOf } from '../model/pending.js';
import { formatCount } from '../model/quantities.js';
import { arranged } from '../model/rows.js';
import { element, inputOf, placeOf, setChildren, setText } from './elements/dom.js';
import { Grid } from './elements/grid.js';
import { showExplanation } from './explanation.js';

/**
 * @typedef {import('../model/pending.js').PendingDocument} PendingDocument
 * @typedef {import('../model/url_state.js').State} State
 * @typedef {import('../connection/session.js').Session} Session
 * @typedef {import('./highlight.js').Highlight} Highlight
 */

/** The server judges for some seconds; while the cluster changes it is asked again after this. */
const PAUSE_MS = 500;
const EXPLAIN_PAUSE_MS = 1000;

export class Pending {
  /** @param {Document} page @param {Session} session @param {(change: Partial<State>) => void} go
   * @param {Highlight} highlight */
  constructor(page, session, go, highlight) {
    this.go = go;
    this.highlight = highlight;
    this.caption = placeOf(page, 'pending-caption');
    this.categories = placeOf(page, 'categories');
    this.reasons = placeOf(page, 'reasons');
    this.explanation = placeOf(page, 'explanation');
    this.filterInput = inputOf(page, 'pending-filter');
    this.filterInput.addEventListener('input', () => go({ filter: this.filterInput.value }));
    this.grid = new Grid(placeOf(page, 'pending-grid'), {
      onOpen: (pod) => go({ pod }),
      onSort: (key) => go({ sort: key, descending: this.state?.sort === key ? !this.state.descending : false }),
      onPoint: () => {},
    });
    /** @type {State | null} */
    this.state = null;
    /** @type {PendingDocument | null} */
    this.document = null;
    this.problem = '';
    /** The reason under the pointer or with the focus. */
    this.pointed = '';
    this.explained = '';
    this.explanationDrawn = '';
    this.pods = new Polling(session, {
      pauseMs: PAUSE_MS,
      onAnswer: (found) => {
        this.document = found;
        this.problem = '';
        // There was no time for some: the next answer has more.
        if (found.isComplete === false) this.pods.outdate();
        this.draw();
      },
      onProblem: (problem) => {
        this.problem = problem;
        this.draw();
      },
    });
    this.pod = new Polling(session, {
      pauseMs: EXPLAIN_PAUSE_MS,
      onAnswer: (found) => this.drawExplanation(found),
      onProblem: (problem) => this.drawExplanation(null, problem),
    });
  }

  /** The cluster changed. */
  outdate() {
    this.pods.outdate();
    this.pod.outdate();
  }

  /** @param {State} state */
  show(state) {
    const isShown = state.view === 'pending';
    this.state = isShown ? state : null;
    this.pods.ask(isShown ? '/api/pending' : '');
    this.explain(isShown ? state.pod : '');
    if (!isShown) return;
    if (this.filterInput.value !== state.filter) this.filterInput.value = state.filter;
    this.draw();
  }

  draw() {
    const { document, state } = this;
    if (!state) return;
    if (this.problem || !document) {
      setText(this.caption, this.problem ? `Pending pods: ${this.problem}` : 'Judging the pending pods …');
      if (!document) return;
    }
    if (!this.problem) setText(this.caption, captionOf(document));
    this.drawCategories(state, document);
    this.drawReasons(state, document);
    const table = pendingTable(document, state.category, state.reason);
    const rows = arranged(table, state.sort, state.descending, state.filter);
    this.grid.set({ ...table, rows, sort: state.sort, descending: state.descending, opens: true });
  }

  /** @param {State} state @param {PendingDocument} document */
  drawCategories(state, document) {
    const counts = byCategory(document);
    setChildren(
      this.categories,
      [['', 'All'], ...Object.entries(CATEGORIES)],
      ([key]) => key,
      ([key]) =>
        element('button', {
          type: 'button',
          'data-category': key,
          click: () => this.go({ category: key, reason: '' }),
        }),
      (button, [key, title]) => {
        button.setAttribute('aria-pressed', String(key === state.category));
        setText(button, key ? `${title} (${counts.get(key) ?? 0})` : title);
      },
    );
  }

  /** @param {State} state @param {PendingDocument} document */
  drawReasons(state, document) {
    setChildren(
      this.reasons,
      reasonsOf(document, state.category),
      ({ key }) => key,
      ({ key }) => this.reasonItem(key),
      (item, { key, reason, pods }) => {
        const [button] = item.children;
        button.setAttribute('aria-pressed', String(key === state.reason));
        setText(button.children[0], reason.reason);
        setText(
          button.children[1],
          `${reason.by} ${reason.plugin} · ${formatCount(pods, 'pod')} · ${formatCount(reason.nodes.length, 'node')}`,
        );
      },
    );
    // They may have other nodes now.
    if (this.pointed) this.point(nodesOf(document, this.pointed) ? this.pointed : '');
    this.highlight.choose(nodesOf(document, state.reason));
  }

  /** @param {string} key */
  reasonItem(key) {
    return element(
      'li',
      {},
      element(
        'button',
        {
          type: 'button',
          'data-reason': key,
          click: () => this.go({ reason: this.state?.reason === key ? '' : key }),
          pointerenter: () => this.point(key),
          pointerleave: () => this.point(''),
          focus: () => this.point(key),
          blur: () => this.point(''),
        },
        element('span', { class: 'reason-text' }),
        element('span', { class: 'reason-facts' }),
      ),
    );
  }

  /** @param {string} key of a reason; empty: none */
  point(key) {
    this.pointed = key;
    this.highlight.point(this.reasons.id, this.document && nodesOf(this.document, key));
  }

  /** @param {string} pod */
  explain(pod) {
    this.explanation.hidden = pod === '';
    if (pod !== this.explained) {
      this.explained = pod;
      this.explanationDrawn = '';
      this.highlight.point(this.explanation.id, null);
      this.explanation.replaceChildren(element('p', {}, `Looking for what would place ${pod} …`));
    }
    this.pod.ask(pod && `/api/explain?pod=${encodeURIComponent(pod)}`);
  }

  /** Only where something changed, so that what is read stays in its place.
   * @param {import('../model/explanation.js').Explanation | null} found @param {string} [problem] */
  drawExplanation(found, problem = '') {
    const drawn = JSON.stringify([found, problem]);
    if (drawn === this.explanationDrawn) return;
    this.explanationDrawn = drawn;
    // The row that was pointed at goes.
    this.highlight.point(this.explanation.id, null);
    if (found) showExplanation(this.explanation, found, this.highlight);
    else this.explanation.replaceChildren(element('p', {}, problem));
  }
}
