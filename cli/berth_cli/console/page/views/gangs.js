// Gangs beside the pending pods: what each one waits for, and what keeps the next member of one of them out.

import { Polling } from '../connection/polling.js';
import { captionOf, gangTexts, HEADS, inOrder } from '../model/gangs.js';
import { element, placeOf, setChildren, setText } from './elements/dom.js';
import { reasonTable, row, scrolled, table } from './elements/tables.js';
import { changesOf } from './explanation.js';

/**
 * @typedef {import('../model/explanation.js').Explanation} Explanation
 * @typedef {import('../model/gangs.js').Gang} Gang
 * @typedef {import('../model/gangs.js').GangsDocument} GangsDocument
 * @typedef {import('../model/url_state.js').State} State
 * @typedef {import('../connection/session.js').Session} Session
 *
 * @typedef {object} GangFacts what berth explain --gang -o json prints, and its headline
 * @property {string} headline
 * @property {{pod: string, state: string, node: string | null}[]} members
 * @property {{by: string, plugin: string, reason: string, count: number, nodes: string[]}[]} reasons
 * @property {string[]} before
 *
 * @typedef {GangFacts & Pick<Explanation, 'counterfactuals' | 'searchEnd' | 'searchNote'>} GangExplanation
 */

const PAUSE_MS = 1500;

export class Gangs {
  /** @param {Document} page @param {Session} session @param {(change: Partial<State>) => void} go
   * @param {import('./highlight.js').Highlight} highlight */
  constructor(page, session, go, highlight) {
    this.go = go;
    this.highlight = highlight;
    this.caption = placeOf(page, 'gangs-caption');
    this.list = placeOf(page, 'gangs-list');
    this.details = placeOf(page, 'gang');
    this.rows = element('tbody');
    this.chosen = '';
    this.drawn = '';
    this.gangs = new Polling(session, {
      pauseMs: PAUSE_MS,
      isPeriodic: true,
      onAnswer: (found) => this.draw(found),
      onProblem: (problem) => setText(this.caption, `Gangs: ${problem}`),
    });
    this.gang = new Polling(session, {
      pauseMs: PAUSE_MS,
      onAnswer: (found) => this.drawExplanation(found),
      onProblem: (problem) => this.drawExplanation(null, problem),
    });
  }

  /** The cluster changed. */
  outdate() {
    this.gang.outdate();
  }

  /** @param {State} state */
  show(state) {
    const isShown = state.view === 'pending';
    this.gangs.ask(isShown ? '/api/gangs' : '');
    this.explain(isShown ? state.gang : '');
  }

  /** @param {GangsDocument} found */
  draw(found) {
    setText(this.caption, captionOf(found));
    if (!found.gangs.length) return this.list.replaceChildren();
    setChildren(
      this.rows,
      inOrder(found),
      ({ gang }) => gang,
      ({ gang }) => this.row(gang),
      (made, gang) => gangTexts(gang).forEach((text, at) => setText(made.children[at + 1], text)),
    );
    if (!this.list.children.length) this.list.append(scrolled('Gangs', table(HEADS, this.rows)));
  }

  /** @param {string} gang */
  row(gang) {
    const open = () => this.go({ gang: this.chosen === gang ? '' : gang });
    const button = element('button', { type: 'button', class: 'link', 'data-gang': gang, click: open }, gang);
    return row([button, ...HEADS.slice(1).map(() => '')]);
  }

  /** @param {string} gang */
  explain(gang) {
    this.details.hidden = gang === '';
    if (gang !== this.chosen) {
      this.chosen = gang;
      this.drawn = '';
      this.highlight.point(this.details.id, null);
      this.details.replaceChildren(element('p', {}, `Planning the members of ${gang} …`));
    }
    this.gang.ask(gang && `/api/gang?gang=${encodeURIComponent(gang)}`);
  }

  /** Only where something changed, so that what is read stays in its place.
   * @param {GangExplanation | null} found @param {string} [problem] */
  drawExplanation(found, problem = '') {
    const drawn = JSON.stringify([found, problem]);
    if (drawn === this.drawn) return;
    this.drawn = drawn;
    // The row that was pointed at goes.
    this.highlight.point(this.details.id, null);
    this.details.replaceChildren(...(found ? this.explanation(found) : [element('p', {}, problem)]));
  }

  /** @param {GangExplanation} found */
  explanation(found) {
    const { headline, members, reasons, before } = found;
    return [
      element('h3', {}, headline),
      table(
        ['Member', 'State', 'Node'],
        members.map(({ pod, state, node }) => row([pod, state, node ?? ''])),
      ),
      ...(reasons.length
        ? [
            element('h3', {}, 'With these on their nodes, the next member fits on no node'),
            reasonTable(reasons, this.highlight, this.details.id),
          ]
        : []),
      ...(before.length ? [element('p', {}, `Gangs that get their places first: ${before.join(', ')}`)] : []),
      ...changesOf(found),
    ];
  }
}
