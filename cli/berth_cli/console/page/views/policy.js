// Policy: the configuration in force, a second one beside it, and what it would place elsewhere: now, in live decisions
// that a server judges by both, and in a recording.

import { diffTable, SHADOW_HEADS, shadowRows, shadowSummary, summaryOf } from '../model/policy.js';
import { arranged } from '../model/rows.js';
import { pause } from '../connection/pause.js';
import { Refused } from '../connection/session.js';
import { element, setText } from './elements/dom.js';
import { Grid } from './elements/grid.js';
import { row, scrolled, table } from './elements/tables.js';

/**
 * @typedef {import('../model/policy.js').PolicyDocument} PolicyDocument
 * @typedef {import('../model/policy.js').PolicyDiff} PolicyDiff
 * @typedef {import('../model/policy.js').ShadowDocument} ShadowDocument
 * @typedef {import('../model/url_state.js').State} State
 * @typedef {import('../connection/session.js').Session} Session
 */

const ASK_MS = 3000;
const NO_PATH = 404;

export class Policy {
  /** @param {Document} page @param {Session} session @param {(change: Partial<State>) => void} go */
  constructor(page, session, go) {
    this.session = session;
    /** @param {string} id */
    const place = (id) => {
      const found = page.getElementById(id);
      if (!found) throw new Error(`the page has no ${id}`);
      return found;
    };
    this.texts = place('policy-texts');
    this.shadowSummary = place('shadow-summary');
    this.shadow = place('shadow');
    const places = (/** @type {string} */ name) => ({
      button: /** @type {HTMLButtonElement} */ (place(`${name}-run`)),
      summary: place(`${name}-summary`),
      grid: place(`${name}-grid`),
    });
    this.pending = new Comparison(session, go, places('compare'), '/api/policy/diff', 'pending pods placed by both');
    this.replay = new Comparison(session, go, places('replay'), '/api/policy/replay', 'recorded pods judged by both');
    this.isShown = false;
    this.isAsking = false;
    this.isRead = false;
    this.shadowDrawn = '';
  }

  /** @param {State} state */
  show(state) {
    this.isShown = state.view === 'policy';
    if (!this.isShown) {
      this.isRead = false;
      return;
    }
    if (!this.isRead) this.read();
    if (!this.isAsking) this.followShadow();
    this.pending.show(state);
    this.replay.show(state);
  }

  /** Each time that the view is opened. */
  async read() {
    this.isRead = true;
    try {
      /** @type {PolicyDocument} */
      const found = await (await this.session.get('/api/policy')).json();
      this.pending.places.button.hidden = found.second === null;
      this.replay.places.button.hidden = !found.recording;
      if (found.recording) setText(this.replay.places.button, `Replay ${found.recording}`);
      this.texts.replaceChildren(
        text('In force', found.inForce, found.fallback),
        found.second
          ? text(found.second.name, found.second.text, '')
          : element('p', {}, 'Start the console with --compare FILE to see a second policy beside it.'),
      );
    } catch (error) {
      this.isRead = false;
      this.texts.replaceChildren(element('p', {}, messageOf(error)));
    }
  }

  /** As long as the view is shown, and there is a shadow. */
  async followShadow() {
    this.isAsking = true;
    while (this.isShown) {
      try {
        this.drawShadow(await (await this.session.get('/api/shadow')).json());
      } catch (error) {
        setText(this.shadowSummary, messageOf(error));
        if (error instanceof Refused && error.status === NO_PATH) break;
      }
      await pause(ASK_MS);
    }
    this.isAsking = false;
  }

  /** Only where something changed, so that the focus and the place in the list stay. @param {ShadowDocument} found */
  drawShadow(found) {
    setText(this.shadowSummary, shadowSummary(found));
    const rows = shadowRows(found);
    const drawn = JSON.stringify(rows);
    if (drawn === this.shadowDrawn) return;
    this.shadowDrawn = drawn;
    const shown = rows.length ? [scrolled('Disagreements of live decisions', table(SHADOW_HEADS, rows.map(row)))] : [];
    this.shadow.replaceChildren(...shown);
  }
}

/** A button, what it found in one line, and the pods that go elsewhere. */
class Comparison {
  /** @param {Session} session @param {(change: Partial<State>) => void} go
   * @param {{button: HTMLButtonElement, summary: HTMLElement, grid: HTMLElement}} places @param {string} path
   * @param {string} what is done with the pods */
  constructor(session, go, places, path, what) {
    this.session = session;
    this.places = places;
    this.path = path;
    this.what = what;
    places.button.addEventListener('click', () => this.run());
    this.grid = new Grid(places.grid, {
      onOpen: () => {},
      onSort: (key) => go({ sort: key, descending: this.state?.sort === key ? !this.state.descending : false }),
      onPoint: () => {},
    });
    /** @type {State | null} */
    this.state = null;
    /** @type {PolicyDiff | null} */
    this.diff = null;
  }

  /** @param {State} state */
  show(state) {
    this.state = state;
    this.draw();
  }

  async run() {
    const { button, summary } = this.places;
    button.disabled = true;
    setText(summary, 'Asking both policies …');
    try {
      this.diff = await (await this.session.get(this.path)).json();
      this.draw();
    } catch (error) {
      setText(summary, messageOf(error));
    }
    button.disabled = false;
    // A disabled button loses the focus.
    if (document.activeElement === document.body) button.focus();
  }

  draw() {
    const { diff, state } = this;
    this.places.grid.hidden = !diff?.pods.length;
    if (!diff || !state) return;
    setText(this.places.summary, summaryOf(diff, this.what));
    const content = diffTable(diff);
    const rows = arranged(content, state.sort, state.descending, '');
    this.grid.set({ ...content, rows, sort: state.sort, descending: state.descending, opens: false });
  }
}

/** @param {string} title @param {string} content @param {string} problem */
function text(title, content, problem) {
  return element(
    'section',
    { class: 'card' },
    element('h3', {}, title),
    problem ? element('p', { class: 'problem' }, problem) : null,
    element('pre', { tabindex: 0, role: 'region', 'aria-label': `Configuration: ${title}` }, content || '{}'),
  );
}

/** @param {unknown} error */
function messageOf(error) {
  return error instanceof Error ? error.message : String(error);
}
