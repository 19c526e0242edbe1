// Gangs beside the pending pods: what each one waits for, and what keeps the next member of one of them out.

import { captionOf, gangTexts, HEADS, inOrder } from '../model/gangs.js';
import { pause } from '../connection/pause.js';
import { element, setText } from './elements/dom.js';
import { reasonTable, row, scrolled, table } from './elements/tables.js';

/**
 * @typedef {import('../model/gangs.js').GangsDocument} GangsDocument
 * @typedef {import('../model/url_state.js').State} State
 * @typedef {import('../connection/session.js').Session} Session
 *
 * @typedef {object} GangExplanation what berth explain --gang -o json prints, and its headline
 * @property {string} headline
 * @property {{pod: string, state: string, node: string | null}[]} members
 * @property {{by: string, plugin: string, reason: string, count: number, nodes: string[]}[]} reasons
 * @property {string[]} before
 */

const ASK_MS = 3000;

export class Gangs {
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
    this.caption = place('gangs-caption');
    this.list = place('gangs-list');
    this.details = place('gang');
    this.isAsking = false;
    this.isShown = false;
    this.chosen = '';
    this.drawn = '';
  }

  /** @param {State} state */
  show(state) {
    this.isShown = state.view === 'pending';
    if (!this.isShown) return;
    if (!this.isAsking) this.ask();
    this.explain(state.gang);
  }

  /** As long as the view is shown. */
  async ask() {
    this.isAsking = true;
    while (this.isShown) {
      try {
        this.draw(await (await this.session.get('/api/gangs')).json());
      } catch (error) {
        setText(this.caption, `Gangs: ${error instanceof Error ? error.message : String(error)}`);
      }
      await pause(ASK_MS);
    }
    this.isAsking = false;
  }

  /** Only where something changed, so that the focus stays. @param {GangsDocument} found */
  draw(found) {
    const drawn = JSON.stringify(found);
    if (drawn === this.drawn) return;
    this.drawn = drawn;
    setText(this.caption, captionOf(found));
    const focused = document.activeElement;
    const focusedGang = focused instanceof HTMLElement ? focused.dataset.gang : undefined;
    const rows = inOrder(found).map((gang) => {
      const open = () => this.go({ gang: this.chosen === gang.gang ? '' : gang.gang });
      const button = element(
        'button',
        { type: 'button', class: 'link', 'data-gang': gang.gang, click: open },
        gang.gang,
      );
      if (gang.gang === focusedGang) queueMicrotask(() => button.focus());
      return row([button, ...gangTexts(gang)]);
    });
    this.list.replaceChildren(...(rows.length ? [scrolled('Gangs', table(HEADS, rows))] : []));
  }

  /** @param {string} gang */
  async explain(gang) {
    this.details.hidden = gang === '';
    if (gang === this.chosen) return;
    this.chosen = gang;
    if (!gang) return this.light(null);
    this.details.replaceChildren(element('p', {}, `Planning the members of ${gang} …`));
    try {
      /** @type {GangExplanation} */
      const found = await (await this.session.get(`/api/gang?gang=${encodeURIComponent(gang)}`)).json();
      if (this.chosen === gang) this.drawExplanation(found);
    } catch (error) {
      if (this.chosen !== gang) return;
      this.details.replaceChildren(element('p', {}, error instanceof Error ? error.message : String(error)));
    }
  }

  /** @param {GangExplanation} found */
  drawExplanation({ headline, members, reasons, before }) {
    this.details.replaceChildren(
      element('h3', {}, headline),
      table(
        ['Member', 'State', 'Node'],
        members.map(({ pod, state, node }) => row([pod, state, node ?? ''])),
      ),
      ...(reasons.length
        ? [
            element('h3', {}, 'With these on their nodes, the next member fits on no node'),
            reasonTable(reasons, this.light),
          ]
        : []),
      ...(before.length ? [element('p', {}, `Gangs that get their places first: ${before.join(', ')}`)] : []),
    );
  }
}
