// A document that is asked for again and again, as long as it is shown.

import { pause } from './pause.js';
import { NotAnswered, Refused } from './session.js';

/**
 * @typedef {import('./session.js').Session} Session
 *
 * @typedef {object} Options
 * @property {(content: any) => void} onAnswer
 * @property {(problem: string) => void} onProblem why there is no answer
 * @property {number} pauseMs from an answer to the next question, and at least as long as the answer took
 * @property {boolean} [isPeriodic] without: asked again only after `outdate`
 */

const UNKNOWN = 404;

/** One question at a time. */
export class Polling {
  /** @param {Session} session @param {Options} options @param {typeof pause} [wait] @param {() => number} [clock]
   * milliseconds */
  constructor(session, options, wait = pause, clock = () => performance.now()) {
    this.session = session;
    this.options = options;
    this.wait = wait;
    this.clock = clock;
    this.path = '';
    this.ending = new AbortController();
    this.isOutdated = false;
    this.wake = () => {};
  }

  /** Ask for this, now and from now on; empty: for nothing. @param {string} path */
  ask(path) {
    if (path === this.path) return;
    this.path = path;
    this.ending.abort();
    this.wake();
    this.ending = new AbortController();
    if (path) this.follow(path, this.ending.signal);
  }

  /** What was answered is out of date. */
  outdate() {
    this.isOutdated = true;
    this.wake();
  }

  /** @param {string} path @param {AbortSignal} signal */
  async follow(path, signal) {
    let hasAnswer = false;
    while (!signal.aborted) {
      const began = this.clock();
      this.isOutdated = this.options.isPeriodic === true;
      try {
        const content = await this.session.document(path, signal);
        if (signal.aborted) return;
        hasAnswer = true;
        this.options.onAnswer(content);
      } catch (error) {
        if (signal.aborted) return;
        // What was shown stays while the console is away: the line at the top says so.
        if (!(hasAnswer && error instanceof NotAnswered)) this.options.onProblem(messageOf(error));
        // What there is not comes with a change, or not at all.
        this.isOutdated = !(error instanceof Refused && error.status === UNKNOWN);
      }
      await this.wait(Math.max(this.options.pauseMs, this.clock() - began));
      await this.untilOutdated(signal);
    }
  }

  /** @param {AbortSignal} signal @returns {Promise<void>} */
  untilOutdated(signal) {
    if (this.isOutdated || signal.aborted) return Promise.resolve();
    return new Promise((resolve) => {
      this.wake = resolve;
    });
  }
}

/** @param {unknown} error */
export function messageOf(error) {
  return error instanceof Error ? error.message : String(error);
}
