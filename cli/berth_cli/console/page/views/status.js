// The line that says how current the page is.

import { Freshness } from '../connection/freshness.js';
import { element, setAttributes, setText } from './elements/dom.js';

const MARKS = { loading: '…', current: '✓', stale: '!', disconnected: '!', closed: '×' };

export class Status {
  /** @param {HTMLElement} place @param {() => number} clock milliseconds, as performance.now */
  constructor(place, clock) {
    this.freshness = new Freshness(clock);
    this.text = element('span', {});
    this.mark = element('span', { class: 'mark', 'aria-hidden': 'true' });
    this.place = place;
    place.append(this.mark, this.text);
    this.show();
  }

  /** @param {(freshness: Freshness) => void} change */
  tell(change) {
    change(this.freshness);
    this.show();
  }

  /** Called every second: data that nobody renews grows old. */
  show() {
    const { kind, sentence } = this.freshness;
    setAttributes(this.place, { 'data-kind': kind });
    setText(this.mark, MARKS[kind]);
    setText(this.text, sentence);
  }
}
