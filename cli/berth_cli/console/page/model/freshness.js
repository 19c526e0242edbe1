// Describes the freshness of the page in one sentence: loading, current, old, or disconnected from the console.

import { formatAge } from './quantities.js';

/** @typedef {'loading' | 'current' | 'stale' | 'disconnected' | 'closed'} Kind */

/** The age in seconds above which data is stale, if the console does not report one. */
const STALE_SECONDS = 180;

export class Freshness {
  /** The name of the source that the console reads. */
  name = '';
  /** @type {Exclude<Kind, 'stale'>} */
  state = 'loading';
  detail = '';
  problem = '';
  staleSeconds = STALE_SECONDS;
  /** @type {number | null} */
  observedAt = null;

  /** @param {() => number} clock milliseconds, as performance.now */
  constructor(clock) {
    this.clock = clock;
  }

  /** @param {'loading' | 'disconnected' | 'closed'} state @param {string} detail */
  lose(state, detail) {
    this.state = state;
    this.detail = detail;
  }

  /** @param {{ageSeconds: number | null, maxStalenessSeconds?: number | null, problem: string}} condition */
  observe({ ageSeconds, maxStalenessSeconds, problem }) {
    this.state = 'current';
    this.problem = problem;
    this.staleSeconds = maxStalenessSeconds ?? STALE_SECONDS;
    this.observedAt = ageSeconds === null ? null : this.clock() - ageSeconds * 1000;
  }

  /** @returns {number | null} seconds; data that is not renewed grows old */
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
    const data = this.age === null ? '' : ` The data is ${formatAge(this.age)} old.`;
    switch (this.kind) {
      case 'loading':
        return this.detail ? `Waiting for the cluster: ${this.detail}` : 'Reading the cluster …';
      case 'current':
        return `${this.name}, current`;
      case 'stale':
        return `${this.name}:${data}${this.problem ? ` ${this.problem}` : ''}`;
      case 'disconnected':
        return `The console does not answer; trying again every second.${data}`;
      default:
        return this.detail;
    }
  }
}
