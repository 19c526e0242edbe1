// The stream of decisions, the newest first, and one of them with every node's verdict and scores.

import { DecisionStream } from '../connection/decision_stream.js';
import { messageOf, Polling } from '../connection/polling.js';
import {
  choices,
  decisionKey,
  decisionTable,
  factsOf,
  matching,
  nodeNamed,
  nodesText,
  NONE_JUDGED,
  scoreBars,
} from '../model/decisions.js';
import { arranged } from '../model/rows.js';
import { element, inputOf, placeOf, selectOf, setOptions, setText } from './elements/dom.js';
import { Grid } from './elements/grid.js';
import { barCell, row, table } from './elements/tables.js';

/**
 * @typedef {import('../model/decisions.js').DecisionDetails} DecisionDetails
 * @typedef {import('../model/url_state.js').State} State
 * @typedef {import('../connection/session.js').Session} Session
 * @typedef {import('./highlight.js').Highlight} Highlight
 */

const NONE_YET = 'No decision yet. Each call of a verb is shown here as it comes.';
const NOT_KEPT = 'This decision is not kept any more.';
const MOST_BARS = 30;
/** While decisions come, the server looks through all verdicts again after this. */
const OF_NODE_PAUSE_MS = 1000;

export class Decisions {
  /** @param {Document} page @param {Session} session @param {(change: Partial<State>) => void} go
   * @param {Highlight} highlight */
  constructor(page, session, go, highlight) {
    this.session = session;
    this.highlight = highlight;
    this.caption = placeOf(page, 'decisions-caption');
    this.empty = placeOf(page, 'decisions-empty');
    this.details = placeOf(page, 'decision');
    this.verbs = selectOf(page, 'decisions-verb');
    this.verbs.addEventListener('change', () => go({ verb: this.verbs.value }));
    this.reasons = selectOf(page, 'decisions-reason');
    this.reasons.addEventListener('change', () => go({ reason: this.reasons.value }));
    this.filterInput = inputOf(page, 'decisions-filter');
    this.filterInput.addEventListener('input', () => go({ filter: this.filterInput.value }));
    this.grid = new Grid(placeOf(page, 'decisions-grid'), {
      onOpen: (decision) => go({ decision }),
      onSort: (key) => go({ sort: key, descending: this.state?.sort === key ? !this.state.descending : false }),
      onPoint: () => {},
    });
    /** @type {State | null} */
    this.state = null;
    this.judged = NONE_JUDGED;
    this.ofNodeProblem = '';
    this.ofNode = new Polling(session, {
      pauseMs: OF_NODE_PAUSE_MS,
      onAnswer: ({ node, numbers }) => this.drawJudged({ node, numbers: new Set(numbers) }),
      onProblem: (problem) => this.drawJudged(NONE_JUDGED, `Decisions that judged this node: ${problem}`),
    });
    this.stream = new DecisionStream(session, () => {
      this.ofNode.outdate();
      this.draw();
    });
    /** @type {AbortController | null} */
    this.ending = null;
    this.shown = '';
  }

  /** @param {State} state */
  show(state) {
    if (state.view !== 'decisions') {
      this.state = null;
      this.ofNode.ask('');
      this.ending?.abort();
      this.ending = null;
      return;
    }
    this.state = state;
    if (this.filterInput.value !== state.filter) this.filterInput.value = state.filter;
    if (!this.ending) {
      this.ending = new AbortController();
      this.stream.follow(this.ending.signal);
    }
    this.askOfNode(nodeNamed(state.filter));
    this.draw();
    this.showDetails(state.decision);
  }

  /** The server has the verdict of each node, the page those of some. @param {string} node empty: the filter is none */
  askOfNode(node) {
    if (node !== this.judged.node) {
      this.judged = NONE_JUDGED;
      this.ofNodeProblem = '';
    }
    this.ofNode.ask(node && `/api/decisions/of-node?node=${encodeURIComponent(node)}`);
  }

  /** @param {import('../model/decisions.js').Judged} judged @param {string} [problem] */
  drawJudged(judged, problem = '') {
    this.judged = judged;
    this.ofNodeProblem = problem;
    this.draw();
  }

  draw() {
    const { state } = this;
    const { decisions } = this.stream;
    const problem = this.stream.problem || this.ofNodeProblem;
    if (!state) return;
    const { verbs, reasons } = choices(decisions, state.verb, state.reason);
    setOptions(this.verbs, [['', 'all'], ...verbs.map(optionOf)], state.verb);
    setOptions(this.reasons, [['', 'any'], ...reasons.map(optionOf)], state.reason);
    const content = decisionTable(matching(decisions, state.verb, state.reason), this.judged);
    // The newest first, unless another order is chosen.
    const isDefault = state.sort === 'name';
    const sort = isDefault ? 'number' : state.sort;
    const descending = isDefault || state.descending;
    const rows = arranged(content, sort, descending, state.filter);
    const isFiltered = state.filter || state.verb || state.reason;
    setText(this.caption, `Decisions, ${rows.length}${isFiltered ? ` of ${decisions.length}` : ''}`);
    this.empty.hidden = decisions.length > 0 && !problem;
    setText(this.empty, problem || NONE_YET);
    this.grid.set({ ...content, rows, sort, descending, opens: true });
  }

  /** @param {string} decision as the address names it */
  async showDetails(decision) {
    this.details.hidden = decision === '';
    if (decision === this.shown) return;
    this.shown = decision;
    this.highlight.point(this.details.id, null);
    if (!decision) return;
    this.details.replaceChildren(element('p', {}, 'Reading the decision …'));
    try {
      const [number, time] = decision.split('@');
      /** @type {DecisionDetails} */
      const found = await this.session.document(`/api/decision?number=${encodeURIComponent(number)}`);
      if (this.shown !== decision) return;
      if (!time || decisionKey(found) === decision) this.drawDetails(found);
      else this.details.replaceChildren(element('p', {}, NOT_KEPT));
    } catch (error) {
      if (this.shown === decision) this.details.replaceChildren(element('p', {}, messageOf(error)));
    }
  }

  /** @param {DecisionDetails} found */
  drawDetails(found) {
    const passed = found.passed ?? [];
    this.details.replaceChildren(
      element('h3', {}, `${found.verb} for ${found.namespace}/${found.name}: ${found.outcome}`),
      ...factsOf(found).map((text) => element('p', {}, text)),
      ...found.rejected.map((each) =>
        this.nodes(
          `${each.count} × ${each.plugin ? `${each.plugin}: ` : ''}${each.reason}`,
          each.nodes,
          nodesText(each),
        ),
      ),
      passed.length ? this.nodes(`${passed.length} × passed`, passed, passed.join(', ')) : '',
      found.scores.length ? bars(found) : '',
    );
  }

  /** Nodes with one verdict, which light up. @param {string} summary @param {string[]} nodes @param {string} text */
  nodes(summary, nodes, text) {
    const light = () => this.highlight.point(this.details.id, nodes);
    const unlight = () => this.highlight.point(this.details.id, null);
    return element(
      'details',
      { pointerenter: light, pointerleave: unlight, focusin: light, focusout: unlight },
      element('summary', {}, summary),
      element('p', {}, text),
    );
  }
}

/** @param {[string, number]} choice @returns {[string, string]} */
function optionOf([name, count]) {
  return [name, `${name} (${count})`];
}

/** @param {DecisionDetails} found */
function bars(found) {
  const shown = scoreBars(found, MOST_BARS);
  const left = found.scores.length - shown.length;
  const rows = shown.map(({ node, score, share, byPlugin }) => {
    const parts = Object.entries(byPlugin ?? {}).filter(([, part]) => part);
    return row([node, barCell(String(score), share), parts.map(([plugin, part]) => `${plugin} ${part}`).join(' + ')]);
  });
  return element(
    'div',
    {},
    table(['Node', 'Score', 'By plugin'], rows),
    left > 0 ? element('p', {}, `and ${left} nodes with lower scores`) : null,
  );
}
