// The stream of decisions, the newest first, and one of them with every node's verdict and scores.

import { readEvents } from '../connection/follow.js';
import { decisionTable, factsOf, joined, nodesText, scoreBars } from '../model/decisions.js';
import { pause } from '../connection/pause.js';
import { arranged } from '../model/rows.js';
import { NoSession, Refused } from '../connection/session.js';
import { element, setText } from './elements/dom.js';
import { Grid } from './elements/grid.js';

/**
 * @typedef {import('../model/decisions.js').Decision} Decision
 * @typedef {import('../model/decisions.js').DecisionDetails} DecisionDetails
 * @typedef {import('../model/url_state.js').State} State
 * @typedef {import('../connection/session.js').Session} Session
 */

const NONE_HERE =
  'This console has no decisions: no verb runs in its process. Start berth serve with --console, or berth console with --url.';
const NONE_YET = 'No decision yet. Each call of a verb is shown here as it comes.';
const AGAIN_MS = 1000;
const MOST_BARS = 30;
/** While nothing is decided, nothing comes. */
const SILENCE_MS = 3_600_000;

export class Decisions {
  /** @param {Document} page @param {Session} session @param {(change: Partial<State>) => void} go
   * @param {(nodes: string[] | null) => void} light */
  constructor(page, session, go, light) {
    this.session = session;
    this.light = light;
    /** @param {string} id */
    const place = (id) => {
      const found = page.getElementById(id);
      if (!found) throw new Error(`the page has no ${id}`);
      return found;
    };
    this.caption = place('decisions-caption');
    this.empty = place('decisions-empty');
    this.details = place('decision');
    this.filterInput = /** @type {HTMLInputElement} */ (place('decisions-filter'));
    this.filterInput.addEventListener('input', () => go({ filter: this.filterInput.value }));
    this.grid = new Grid(place('decisions-grid'), {
      onOpen: (decision) => go({ decision }),
      onSort: (key) => go({ sort: key, descending: this.state?.sort === key ? !this.state.descending : false }),
      onPoint: () => {},
    });
    /** @type {State | null} */
    this.state = null;
    /** @type {Decision[]} */
    this.decisions = [];
    /** @type {AbortController | null} */
    this.ending = null;
    this.problem = '';
    this.shown = '';
  }

  /** @param {State} state */
  show(state) {
    this.state = state;
    if (state.view !== 'decisions') {
      this.ending?.abort();
      this.ending = null;
      return;
    }
    if (this.filterInput.value !== state.filter) this.filterInput.value = state.filter;
    if (!this.ending) this.follow();
    this.draw();
    this.showDetails(state.decision);
  }

  /** As long as the view is shown. */
  async follow() {
    const ending = new AbortController();
    this.ending = ending;
    while (!ending.signal.aborted) {
      try {
        const since = this.decisions.at(-1)?.number ?? 0;
        await readEvents(
          this.session,
          `/api/decisions?since=${since}`,
          ending,
          (name, content) => {
            this.problem = name === 'problem' ? content.reason : '';
            if (name === 'decisions') this.decisions = joined(this.decisions, content);
            this.draw();
          },
          SILENCE_MS,
        );
      } catch (error) {
        if (ending.signal.aborted) return;
        if (error instanceof NoSession) return;
        if (error instanceof Refused && error.status === 404) {
          this.problem = NONE_HERE;
          return this.draw();
        }
        // The line at the top says that the console is away. It may come back with other numbers.
        this.decisions = [];
        await pause(AGAIN_MS);
      }
    }
  }

  draw() {
    const { state } = this;
    if (!state || state.view !== 'decisions') return;
    const table = decisionTable(this.decisions);
    // The newest first, unless another order is chosen.
    const isDefault = state.sort === 'name';
    const sort = isDefault ? 'number' : state.sort;
    const descending = isDefault || state.descending;
    const rows = arranged(table, sort, descending, state.filter);
    setText(this.caption, `Decisions, ${rows.length}${state.filter ? ` of ${this.decisions.length}` : ''}`);
    this.empty.hidden = this.decisions.length > 0 && !this.problem;
    setText(this.empty, this.problem || NONE_YET);
    this.grid.set({ ...table, rows, sort, descending, opens: true });
  }

  /** @param {string} number */
  async showDetails(number) {
    this.details.hidden = number === '';
    if (number === this.shown) return;
    this.shown = number;
    this.light(null);
    if (!number) return;
    this.details.replaceChildren(element('p', {}, 'Reading the decision …'));
    try {
      const found = await (await this.session.get(`/api/decision?number=${encodeURIComponent(number)}`)).json();
      if (this.shown === number) this.drawDetails(found);
    } catch (error) {
      if (this.shown !== number) return;
      this.details.replaceChildren(element('p', {}, error instanceof Error ? error.message : String(error)));
    }
  }

  /** @param {DecisionDetails} found */
  drawDetails(found) {
    this.details.replaceChildren(
      element('h3', {}, `${found.verb} for ${found.namespace}/${found.name}: ${found.outcome}`),
      ...factsOf(found).map((text) => element('p', {}, text)),
      ...found.rejected.map(({ reason, plugin, count, nodes }) =>
        element(
          'details',
          {
            pointerenter: () => this.light(nodes),
            pointerleave: () => this.light(null),
            focusin: () => this.light(nodes),
            focusout: () => this.light(null),
          },
          element('summary', {}, `${count} × ${plugin ? `${plugin}: ` : ''}${reason}`),
          element('p', {}, nodesText({ reason, plugin, count, nodes })),
        ),
      ),
      ...(found.scores.length ? [this.bars(found)] : []),
    );
  }

  /** @param {DecisionDetails} found */
  bars(found) {
    const rows = scoreBars(found, MOST_BARS).map(({ node, score, share, byPlugin }) => {
      const parts = Object.entries(byPlugin ?? {}).filter(([, part]) => part);
      const bar = element('span', { class: 'bar', 'aria-hidden': 'true' });
      bar.style.setProperty('--share', String(share));
      return element(
        'tr',
        {},
        element('td', {}, node),
        element('td', { class: 'number' }, String(score), bar),
        element('td', {}, parts.map(([plugin, part]) => `${plugin} ${part}`).join(' + ')),
      );
    });
    const heads = ['Node', 'Score', 'By plugin'];
    const left = found.scores.length - rows.length;
    return element(
      'div',
      {},
      element(
        'table',
        { class: 'facts' },
        element('thead', {}, element('tr', {}, ...heads.map((text) => element('th', { scope: 'col' }, text)))),
        element('tbody', {}, ...rows),
      ),
      left > 0 ? element('p', {}, `and ${left} nodes with lower scores`) : null,
    );
  }
}
