// Reads a document repeatedly, as long as it is shown.

import { Refused } from './session.js';

/**
 * @typedef {object} Options
 * @property {() => string} path of the document to read now; empty: do not read
 * @property {() => unknown} [state] the same path is read again only if the state differs; without `state`, always
 * @property {number} pauseMs the pause from an answer to the next request; it is at least as long as the answer took
 * @property {(content: any) => void} onAnswer
 * @property {(reason: string) => void} onRefusal called if the console does not have the document (yet)
 * @property {(error: unknown) => void} [onLost] called if the console does not answer; the page may stay as it is
 */

const UNKNOWN = 404;

/** Sends one request at a time, for as long as the page is open. */
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

  /** Read at once if the path has changed. */
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
      // A missing document can appear only with another state.
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
