// Policy: the configuration in force, a second one beside it, and what it would place elsewhere now.

import { diffTable, summaryOf } from '../model/policy.js';
import { arranged } from '../model/rows.js';
import { element, setText } from './dom.js';
import { Grid } from './grid.js';

/**
 * @typedef {import('../model/policy.js').PolicyDocument} PolicyDocument
 * @typedef {import('../model/policy.js').PolicyDiff} PolicyDiff
 * @typedef {import('../model/url_state.js').State} State
 * @typedef {import('../session.js').Session} Session
 */

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
    this.summary = place('policy-summary');
    this.gridPlace = place('policy-grid');
    this.button = /** @type {HTMLButtonElement} */ (place('policy-compare'));
    this.button.addEventListener('click', () => this.compare());
    this.grid = new Grid(this.gridPlace, {
      onOpen: () => {},
      onSort: (key) => go({ sort: key, descending: this.state?.sort === key ? !this.state.descending : false }),
      onPoint: () => {},
    });
    /** @type {State | null} */
    this.state = null;
    /** @type {PolicyDiff | null} */
    this.diff = null;
    this.isRead = false;
  }

  /** @param {State} state */
  show(state) {
    this.state = state;
    if (state.view !== 'policy') {
      this.isRead = false;
      return;
    }
    if (!this.isRead) this.read();
    this.draw();
  }

  /** Each time that the view is opened. */
  async read() {
    this.isRead = true;
    try {
      /** @type {PolicyDocument} */
      const found = await (await this.session.get('/api/policy')).json();
      this.button.hidden = found.second === null;
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

  async compare() {
    this.button.disabled = true;
    setText(this.summary, 'Placing the pending pods by both policies …');
    try {
      this.diff = await (await this.session.get('/api/policy/diff')).json();
      this.draw();
    } catch (error) {
      setText(this.summary, messageOf(error));
    }
    this.button.disabled = false;
  }

  draw() {
    const { diff, state } = this;
    this.gridPlace.hidden = !diff?.pods.length;
    if (!diff || !state) return;
    setText(this.summary, summaryOf(diff));
    const table = diffTable(diff);
    const rows = arranged(table, state.sort, state.descending, '');
    this.grid.set({ ...table, rows, sort: state.sort, descending: state.descending, opens: false });
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
