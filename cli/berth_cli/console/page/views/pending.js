// Pending pods by reason, beside the map: a reason lights up the nodes that it rejects.

import { byCategory, CATEGORIES, pendingTable, reasonsOf } from '../model/pending.js';
import { arranged } from '../model/rows.js';
import { element, setText } from './elements/dom.js';
import { showExplanation } from './explanation.js';
import { Grid } from './elements/grid.js';

/**
 * @typedef {import('../model/pending.js').PendingDocument} PendingDocument
 * @typedef {import('../model/url_state.js').State} State
 * @typedef {import('../connection/session.js').Session} Session
 */

/** The server judges for some seconds; while the cluster changes it is asked again after this. */
const AGAIN_MS = 2000;

export class Pending {
  /** @param {Document} page @param {Session} session @param {(change: Partial<State>) => void} go
   * @param {(nodes: string[] | null) => void} light */
  constructor(page, session, go, light) {
    this.session = session;
    this.go = go;
    this.light = light;
    /** @param {string} id */
    const place = (id) => {
      const found = page.getElementById(id);
      if (!found) throw new Error(`the page has no ${id}`);
      return found;
    };
    this.caption = place('pending-caption');
    this.categories = place('categories');
    this.reasons = place('reasons');
    this.explanation = place('explanation');
    this.filterInput = /** @type {HTMLInputElement} */ (place('pending-filter'));
    this.filterInput.addEventListener('input', () => go({ filter: this.filterInput.value }));
    this.grid = new Grid(place('pending-grid'), {
      onOpen: (pod) => go({ pod }),
      onSort: (key) => go({ sort: key, descending: this.state?.sort === key ? !this.state.descending : false }),
      onPoint: () => {},
    });
    /** @type {State | null} */
    this.state = null;
    /** @type {PendingDocument | null} */
    this.document = null;
    this.problem = '';
    this.explained = '';
    this.isAsking = false;
    this.isOutdated = true;
    this.reasonsShown = '';
  }

  /** The cluster changed. */
  outdate() {
    this.isOutdated = true;
  }

  /** @param {State} state */
  show(state) {
    this.state = state;
    if (this.filterInput.value !== state.filter) this.filterInput.value = state.filter;
    this.ask();
    this.draw();
    this.explain(state.pod);
  }

  /** One request at a time. */
  async ask() {
    if (this.isAsking || !this.isOutdated) return;
    this.isAsking = true;
    this.isOutdated = false;
    try {
      this.document = await (await this.session.get('/api/pending')).json();
      this.problem = '';
    } catch (error) {
      this.problem = error instanceof Error ? error.message : String(error);
      this.isOutdated = true;
    }
    this.draw();
    setTimeout(() => {
      this.isAsking = false;
      if (this.isOutdated && this.state?.view === 'pending') this.ask();
    }, AGAIN_MS);
  }

  draw() {
    const { state, document } = this;
    if (!state || state.view !== 'pending') return;
    if (!document) {
      setText(this.caption, this.problem ? `Pending pods: ${this.problem}` : 'Judging the pending pods …');
      return;
    }
    const counts = byCategory(document);
    const parts = Object.entries(CATEGORIES).map(([key, title]) => `${counts.get(key) ?? 0} ${title.toLowerCase()}`);
    const left = document.count - document.pods.name.length;
    setText(
      this.caption,
      document.count
        ? `${document.count} pending pods: ${parts.join(', ')}${left ? `, ${left} more not listed` : ''}`
        : 'No pod is pending',
    );
    this.drawCategories(state, counts);
    this.drawReasons(state, document);
    const table = pendingTable(document, state.category, state.reason);
    const rows = arranged(table, state.sort, state.descending, state.filter);
    this.grid.set({ ...table, rows, sort: state.sort, descending: state.descending, opens: true });
    this.lightChosen();
  }

  /** @param {State} state @param {Map<string, number>} counts */
  drawCategories(state, counts) {
    const all = [['', 'All'], ...Object.entries(CATEGORIES)];
    if (!this.categories.children.length) {
      this.categories.append(
        ...all.map(([key, title]) =>
          element(
            'button',
            { type: 'button', 'data-category': key, click: () => this.go({ category: key, reason: '' }) },
            title,
          ),
        ),
      );
    }
    for (const button of this.categories.children) {
      const key = button instanceof HTMLElement ? (button.dataset.category ?? '') : '';
      button.setAttribute('aria-pressed', String(key === state.category));
      const title = all.find(([each]) => each === key)?.[1] ?? '';
      setText(button, key ? `${title} (${counts.get(key) ?? 0})` : title);
    }
  }

  /** @param {State} state @param {PendingDocument} document */
  drawReasons(state, document) {
    const found = reasonsOf(document, state.category);
    const shown = JSON.stringify([
      found.map(({ key, pods, reason }) => [key, pods, reason.nodes.length]),
      state.reason,
    ]);
    if (shown === this.reasonsShown) return;
    this.reasonsShown = shown;
    const focused = window.document.activeElement;
    const focusedKey = focused instanceof HTMLElement ? focused.dataset.reason : undefined;
    this.reasons.replaceChildren(
      ...found.map(({ reason, key, pods }) => {
        const names = () => reason.nodes.map((at) => document.nodes[at]);
        const isChosen = key === state.reason;
        const button = element(
          'button',
          {
            type: 'button',
            'data-reason': key,
            'aria-pressed': String(isChosen),
            click: () => this.go({ reason: isChosen ? '' : key }),
            pointerenter: () => this.light(names()),
            pointerleave: () => this.lightChosen(),
            focus: () => this.light(names()),
            blur: () => this.lightChosen(),
          },
          element('span', { class: 'reason-text' }, reason.reason),
          element(
            'span',
            { class: 'reason-facts' },
            `${reason.by} ${reason.plugin} · ${count(pods, 'pod')} · ${count(reason.nodes.length, 'node')}`,
          ),
        );
        if (key === focusedKey) queueMicrotask(() => button.focus());
        return element('li', {}, button);
      }),
    );
  }

  lightChosen() {
    const { document, state } = this;
    if (!document || !state || state.view !== 'pending') return this.light(null);
    const chosen = state.reason ? reasonsOf(document, '').find(({ key }) => key === state.reason) : undefined;
    this.light(chosen ? chosen.reason.nodes.map((at) => document.nodes[at]) : null);
  }

  /** @param {string} pod */
  async explain(pod) {
    this.explanation.hidden = pod === '';
    if (pod === this.explained) return;
    this.explained = pod;
    if (!pod) return;
    this.explanation.replaceChildren(element('p', {}, `Looking for what would place ${pod} …`));
    try {
      const answer = await this.session.get(`/api/explain?pod=${encodeURIComponent(pod)}`);
      const found = await answer.json();
      if (this.explained !== pod) return;
      showExplanation(this.explanation, found, (nodes) => (nodes ? this.light(nodes) : this.lightChosen()));
    } catch (error) {
      if (this.explained !== pod) return;
      this.explanation.replaceChildren(element('p', {}, error instanceof Error ? error.message : String(error)));
      // Asked again when the pod is chosen again.
      this.explained = '';
    }
  }
}

/** @param {number} number @param {string} noun */
function count(number, noun) {
  return `${number} ${noun}${number === 1 ? '' : 's'}`;
}
