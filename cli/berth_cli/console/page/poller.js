// A document that is asked for again and again, as long as it is shown.

import { Refused } from './session.js';

/**
 * @typedef {object} Options
 * @property {() => string} path what is asked for now; empty: nothing
 * @property {() => unknown} [state] the same path is asked for again when this is another one; without: always
 * @property {number} pauseMs from an answer to the next question, and at least as long as the answer took
 * @property {(content: any) => void} onAnswer
 * @property {(reason: string) => void} onRefusal the console has none, or not yet
 * @property {(error: unknown) => void} [onLost] it does not answer; what was shown may stay
 */

const UNKNOWN = 404;

/** One question at a time, from the beginning to the end of the page. */
export class Poller {
  /** @param {Pick<import('./session.js').Session, 'document'>} session @param {Options} options
   * @param {(milliseconds: number) => Promise<void>} [wait] */
  constructor(session, options, wait = pause) {
    this.session = session;
    this.options = options;
    this.wait = wait;
    this.asked = '';
    this.answered = /** @type {unknown} */ (null);
    this.ending = new AbortController();
    this.resume = () => {};
    this.run();
  }

  /** Something else may be shown now: then it is asked for at once. */
  wake() {
    if (this.options.path() === this.asked) return;
    this.ending.abort();
    this.resume();
  }

  async run() {
    const { path, state = () => NaN, pauseMs } = this.options;
    for (;;) {
      const began = performance.now();
      if (path() !== this.asked) this.answered = null;
      this.asked = path();
      this.ending = new AbortController();
      const shown = state();
      if (this.asked && shown !== this.answered) await this.ask(this.asked, shown, this.ending.signal);
      const woken = new Promise((resolve) => {
        this.resume = () => resolve(undefined);
      });
      if (!this.ending.signal.aborted)
        await Promise.race([this.wait(Math.max(pauseMs, performance.now() - began)), woken]);
    }
  }

  /** @param {string} path @param {unknown} state @param {AbortSignal} signal */
  async ask(path, state, signal) {
    const { onAnswer, onRefusal, onLost } = this.options;
    try {
      const content = await this.session.document(path, signal);
      if (signal.aborted) return;
      this.answered = state;
      onAnswer(content);
    } catch (error) {
      if (signal.aborted) return;
      const isRefusal = error instanceof Refused;
      // What there is not comes with another state, or not at all.
      this.answered = isRefusal && error.status === UNKNOWN ? state : null;
      if (isRefusal) onRefusal(error.message);
      else onLost?.(error);
    }
  }
}

/** @param {number} milliseconds @returns {Promise<void>} */
function pause(milliseconds) {
  return new Promise((resolve) => {
    setTimeout(resolve, milliseconds);
  });
}
