// The checks of berth doctor, run when they are asked for, and what they found.

import { messageOf } from '../connection/polling.js';
import { buttonOf, element, placeOf, setText } from './elements/dom.js';

/**
 * @typedef {import('../connection/session.js').Session} Session
 *
 * @typedef {object} Findings what berth doctor -o json prints, and its last line
 * @property {{check: string, result: string, message: string, remedy: string, links: string[]}[]} findings
 * @property {string} line
 */

/** What needs somebody comes first. */
const ORDER = ['failed', 'warning', 'ok', 'skipped'];

export class Doctor {
  /** @param {Document} page @param {Session} session */
  constructor(page, session) {
    this.session = session;
    this.line = placeOf(page, 'doctor-line');
    this.findings = placeOf(page, 'doctor-findings');
    this.button = buttonOf(page, 'doctor-run');
    this.button.addEventListener('click', () => this.run());
  }

  async run() {
    this.button.disabled = true;
    setText(this.line, 'Checking: calls for a pod that does not exist, and dry runs …');
    try {
      this.draw(await this.session.document('/api/doctor'));
    } catch (error) {
      setText(this.line, messageOf(error));
    }
    this.button.disabled = false;
    // A disabled button loses the focus.
    if (document.activeElement === document.body) this.button.focus();
  }

  /** @param {Findings} found */
  draw({ findings, line }) {
    setText(this.line, line);
    const ordered = [...findings].sort((a, b) => ORDER.indexOf(a.result) - ORDER.indexOf(b.result));
    this.findings.replaceChildren(
      ...ordered.map(({ check, result, message, remedy, links }) =>
        element(
          'li',
          { class: result === 'failed' || result === 'warning' ? 'problem' : '' },
          element('strong', {}, `${result} `),
          `${check}: ${message}`,
          remedy ? element('p', {}, `→ ${remedy}`) : null,
          links.length ? element('p', {}, links.join(', ')) : null,
        ),
      ),
    );
  }
}
