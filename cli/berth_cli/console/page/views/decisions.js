// Shows the decisions, the newest first, and the selected decision with its nodes and scores.

import { decisionTable, factsOf, nodesText, scoreBars } from '../model/decisions.js';
import { arranged } from '../model/rows.js';
import { Poller } from '../poller.js';
import { element, fieldOf, placeOf, setDetails, setOptions, setText } from './dom.js';
import { Grid } from './grid.js';
import { scoreTable } from './tables.js';

/** @typedef {import('../model/url_state.js').State} State */

const NONE_YET = 'No decision yet. Each call of a verb is shown here as it comes.';
const PAUSE_MS = 500;
const MAX_BARS = 30;

export class Decisions {
  /** @param {import('../main.js').Page} page */
  constructor({ session, go, highlight }) {
    this.highlight = highlight;
    this.verb = fieldOf('decisions-verb', (verb) => go({ verb }));
    this.reason = fieldOf('decisions-reason', (reason) => go({ reason }));
    this.filter = fieldOf('decisions-filter', (filter) => go({ filter }));
    this.grid = new Grid('decisions-grid', (decision) => go({ decision }), go, 'decision');
    /** @type {State | null} */
    this.state = null;
    this.pollers = [
      new Poller(session, {
        path: () => (this.state ? `/api/decisions?${asked(this.state)}` : ''),
        pauseMs: PAUSE_MS,
        onAnswer: (found) => this.draw(found),
        onRefusal: (reason) => this.empty(reason),
      }),
      new Poller(session, {
        path: () => (this.state?.decision ? `/api/decision?key=${encodeURIComponent(this.state.decision)}` : ''),
        state: () => '',
        pauseMs: PAUSE_MS,
        onAnswer: (found) => this.drawDetails(found),
        onRefusal: (reason) => setDetails('decision', reason),
      }),
    ];
  }

  /** @param {State} state */
  show(state) {
    const shown = this.state?.decision;
    this.state = state.view === 'decisions' ? state : null;
    for (const poller of this.pollers) poller.wake();
    if (!this.state) return;
    if (this.filter.value !== state.filter) this.filter.value = state.filter;
    placeOf('decision').hidden = !state.decision;
    if (state.decision === shown) return;
    this.highlight.point('decision', null);
    setDetails('decision', 'Reading the decision …');
  }

  /** @param {string} text why the table is empty; an empty text if it is not */
  empty(text) {
    placeOf('decisions-empty').hidden = !text;
    setText(placeOf('decisions-empty'), text);
  }

  /** @param {any} found */
  draw({ count, matching, verbs, reasons, decisions }) {
    const { state } = this;
    if (!state) return;
    const options = (/** @type {[string, number][]} */ all) => all.map(([text, of]) => [text, `${text} (${of})`]);
    setOptions(this.verb, [['', 'all'], ...options(verbs)], state.verb);
    setOptions(this.reason, [['', 'any'], ...options(reasons)], state.reason);
    const isFiltered = state.filter || state.verb || state.reason;
    setText(placeOf('decisions-caption'), `Decisions, ${matching}${isFiltered ? ` of ${count}` : ''}`);
    this.empty(count ? '' : NONE_YET);
    const content = decisionTable(decisions);
    // The newest first, unless another order is chosen. The server has filtered.
    const order = state.sort === 'name' ? { sort: 'time', order: 'descending' } : state;
    const ordered = { ...state, ...order, filter: '' };
    this.grid.set({ ...content, rows: arranged(content, ordered) }, ordered, state.decision);
  }

  /** @param {import('../model/decisions.js').Details} found */
  drawDetails(found) {
    const passed = found.passed ?? [];
    const bars = scoreBars(found, MAX_BARS).map((each) => ({ ...each, parts: each.byPlugin }));
    const left = found.scores.length - bars.length;
    setDetails(
      'decision',
      `${found.verb} for ${found.namespace}/${found.name}: ${found.outcome}`,
      ...factsOf(found).map((text) => element('p', {}, text)),
      ...found.rejected.map((each) =>
        this.nodes(
          `${each.count} × ${each.plugin ? `${each.plugin}: ` : ''}${each.reason}`,
          each.nodes,
          nodesText(each),
        ),
      ),
      passed.length ? this.nodes(`${passed.length} × passed`, passed, passed.join(', ')) : '',
      bars.length ? scoreTable(['Node', 'Score', 'By plugin'], bars) : '',
      left > 0 ? element('p', {}, `and ${left} nodes with lower scores`) : '',
    );
  }

  /** Nodes with one verdict, to be highlighted. @param {string} summary @param {string[]} nodes @param {string} text */
  nodes(summary, nodes, text) {
    const listeners = this.highlight.listeners('decision', () => nodes);
    return element('details', listeners, element('summary', {}, summary), element('p', {}, text));
  }
}

/** @param {State} state */
function asked({ verb, reason, filter }) {
  return new URLSearchParams({ verb, reason, filter });
}
