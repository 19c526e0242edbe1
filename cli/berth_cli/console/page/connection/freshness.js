// How current the page is, in one sentence: loading, current, old, or without its console.

import { formatAge } from '../model/quantities.js';

/**
 * @typedef {'loading' | 'current' | 'stale' | 'disconnected' | 'closed'} Kind
 * @typedef {import('./follow.js').Condition} Condition
 */

/** Where the console does not say at which age verbs call data stale: their default. */
const STALE_SECONDS = 180;
/** How long the page says that the console is back. */
const TOLD_SECONDS = 15;

export class Freshness {
  /** @param {() => number} clock milliseconds, as performance.now */
  constructor(clock) {
    this.clock = clock;
    /** Of what the console reads. */
    this.name = '';
    /** @type {Exclude<Kind, 'stale'>} */
    this.state = 'loading';
    this.detail = '';
    this.problem = '';
    this.staleSeconds = STALE_SECONDS;
    /** @type {number | null} */
    this.observedAt = null;
    /** @type {number | null} */
    this.awayAt = null;
    /** @type {{at: number, seconds: number} | null} */
    this.back = null;
  }

  /** @param {string} reason the console has nothing yet */
  wait(reason) {
    this.state = 'loading';
    this.detail = reason;
  }

  /** The console does not answer. */
  disconnect() {
    this.state = 'disconnected';
    this.awayAt ??= this.clock();
  }

  /** @param {string} reason nothing more is tried */
  close(reason) {
    this.state = 'closed';
    this.detail = reason;
  }

  /** @param {Condition} condition */
  observe({ ageSeconds, maxStalenessSeconds, problem }) {
    const now = this.clock();
    this.state = 'current';
    this.problem = problem;
    this.staleSeconds = maxStalenessSeconds ?? STALE_SECONDS;
    this.observedAt = ageSeconds === null ? null : now - ageSeconds * 1000;
    if (this.awayAt !== null) this.back = { at: now, seconds: (now - this.awayAt) / 1000 };
    this.awayAt = null;
  }

  /** @returns {number | null} seconds; data that nobody renews grows old */
  get age() {
    return this.observedAt === null ? null : (this.clock() - this.observedAt) / 1000;
  }

  /** @returns {Kind} */
  get kind() {
    const isOld = this.age !== null && this.age > this.staleSeconds;
    return this.state === 'current' && (isOld || this.problem) ? 'stale' : this.state;
  }

  /** @returns {string} */
  get sentence() {
    const { age } = this;
    const data = age === null ? '' : ` The data is ${formatAge(age)} old.`;
    switch (this.kind) {
      case 'loading':
        return this.detail ? `Waiting for the cluster: ${this.detail}` : 'Reading the cluster …';
      case 'current':
        return `${this.name}, current${this.returned}`;
      case 'stale':
        return `${this.name}:${data}${this.problem ? ` ${this.problem}` : ''}`;
      case 'disconnected':
        return `The console does not answer; trying again every second.${data}`;
      default:
        return this.detail;
    }
  }

  /** @returns {string} */
  get returned() {
    const { back } = this;
    if (!back || this.clock() - back.at > TOLD_SECONDS * 1000) return '';
    return ` again; the console was away for ${formatAge(back.seconds)}`;
  }
}
