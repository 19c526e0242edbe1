// One line that says how current the page is: loading, empty, current, old, or without its console.

import { formatAge } from '../model/quantities.js';
import { element, setAttributes, setText } from './elements/dom.js';

/** Verbs decide on data of at most this age by default (maxStaleness). */
const STALE_SECONDS = 180;

/**
 * @typedef {'loading' | 'current' | 'stale' | 'disconnected' | 'closed'} Kind
 */

export class Status {
  /** @param {HTMLElement} place @param {() => number} clock milliseconds, as performance.now */
  constructor(place, clock) {
    this.clock = clock;
    this.text = element('span', {});
    this.mark = element('span', { class: 'mark', 'aria-hidden': 'true' });
    this.place = place;
    place.append(this.mark, this.text);
    this.name = '';
    /** @type {Kind} */
    this.kind = 'loading';
    this.detail = '';
    /** @type {number | null} */
    this.observedAt = null;
    this.problem = '';
    this.show();
  }

  /** @param {Kind} kind @param {string} [detail] */
  set(kind, detail = '') {
    this.kind = kind;
    this.detail = detail;
    this.show();
  }

  /** @param {number | null} ageSeconds @param {string} problem */
  setCondition(ageSeconds, problem) {
    this.observedAt = ageSeconds === null ? null : this.clock() - ageSeconds * 1000;
    this.problem = problem;
    this.kind = 'current';
    this.show();
  }

  /** Called every second: data that nobody renews grows old. */
  show() {
    const age = this.observedAt === null ? null : (this.clock() - this.observedAt) / 1000;
    const old = age !== null && age > STALE_SECONDS;
    const kind = this.kind === 'current' && (old || this.problem) ? 'stale' : this.kind;
    setAttributes(this.place, { 'data-kind': kind });
    setText(this.mark, { loading: '…', current: '✓', stale: '!', disconnected: '!', closed: '×' }[kind]);
    setText(this.text, this.sentence(kind, age));
  }

  /** @param {Kind} kind @param {number | null} age */
  sentence(kind, age) {
    const from = age === null ? '' : ` The data is ${formatAge(age)} old.`;
    switch (kind) {
      case 'loading':
        return this.detail ? `Waiting for the cluster: ${this.detail}` : 'Reading the cluster …';
      case 'current':
        return `${this.name}, current`;
      case 'stale':
        return `${this.name}:${from}${this.problem ? ` ${this.problem}` : ''}`;
      case 'disconnected':
        return `The console does not answer; trying again every second.${from}`;
      case 'closed':
        return this.detail;
    }
  }
}
