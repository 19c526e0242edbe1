// Policy: the configuration in force, a second one beside it, and what it would place elsewhere: now, in live decisions
// that a server judges by both, and in a recording.

import { messageOf, Polling } from '../connection/polling.js';
import { diffTable, SHADOW_HEADS, shadowRows, shadowSummary, summaryOf } from '../model/policy.js';
import { arranged } from '../model/rows.js';
import { buttonOf, element, placeOf, setText } from './elements/dom.js';
import { Grid } from './elements/grid.js';
import { row, scrolled, table } from './elements/tables.js';

/**
 * @typedef {import('../model/policy.js').PolicyDocument} PolicyDocument
 * @typedef {import('../model/policy.js').PolicyDiff} PolicyDiff
 * @typedef {import('../model/policy.js').ShadowDocument} ShadowDocument
 * @typedef {import('../model/url_state.js').State} State
 * @typedef {import('../connection/session.js').Session} Session
 */

const PAUSE_MS = 3000;

export class Policy {
  /** @param {Document} page @param {Session} session @param {(change: Partial<State>) => void} go */
  constructor(page, session, go) {
    this.texts = placeOf(page, 'policy-texts');
    this.shadowSummary = placeOf(page, 'shadow-summary');
    this.shadow = placeOf(page, 'shadow');
    const places = (/** @type {string} */ name) => ({
      button: buttonOf(page, `${name}-run`),
      summary: placeOf(page, `${name}-summary`),
      grid: placeOf(page, `${name}-grid`),
    });
    this.pending = new Comparison(session, go, places('compare'), '/api/policy/diff', 'pending pods placed by both');
    this.replay = new Comparison(session, go, places('replay'), '/api/policy/replay', 'recorded pods judged by both');
    this.textsDrawn = '';
    this.shadowDrawn = '';
    this.configurations = new Polling(session, {
      pauseMs: PAUSE_MS,
      isPeriodic: true,
      onAnswer: (found) => this.drawTexts(found),
      onProblem: (problem) => this.drawProblem(problem),
    });
    this.shadows = new Polling(session, {
      pauseMs: PAUSE_MS,
      isPeriodic: true,
      onAnswer: (found) => this.drawShadow(found),
      onProblem: (problem) => setText(this.shadowSummary, problem),
    });
  }

  /** @param {State} state */
  show(state) {
    const isShown = state.view === 'policy';
    this.configurations.ask(isShown ? '/api/policy' : '');
    this.shadows.ask(isShown ? '/api/shadow' : '');
    if (!isShown) return;
    this.pending.show(state);
    this.replay.show(state);
  }

  /** Only where something changed, so that the focus and the place in the texts stay. @param {PolicyDocument} found */
  drawTexts(found) {
    const drawn = JSON.stringify(found);
    if (drawn === this.textsDrawn) return;
    this.textsDrawn = drawn;
    this.pending.places.button.hidden = found.second === null;
    this.replay.places.button.hidden = !found.recording;
    if (found.recording) setText(this.replay.places.button, `Replay ${found.recording}`);
    this.texts.replaceChildren(
      text('In force', found.inForce, found.fallback),
      found.second
        ? text(found.second.name, found.second.text, '')
        : element('p', {}, 'Start the console with --compare FILE to see a second policy beside it.'),
    );
  }

  /** @param {string} problem */
  drawProblem(problem) {
    this.textsDrawn = '';
    this.texts.replaceChildren(element('p', { class: 'problem' }, problem));
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
      this.diff = await this.session.document(this.path);
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
    element(
      'pre',
      { tabindex: 0, role: 'region', 'aria-label': `Configuration: ${title}` },
      content.trim() === '{}' ? '# every field has its default' : content,
    ),
  );
}
