// The decisions as they come, over silences and restarts of the console.

import { joined } from '../model/decisions.js';
import { readEvents, Silence } from './events.js';
import { pause } from './pause.js';
import { Refused } from './session.js';

/**
 * @typedef {import('../model/decisions.js').Decision} Decision
 * @typedef {import('./session.js').Session} Session
 */

const NONE_HERE =
  'This console has no decisions: no verb runs in its process. Start berth serve with --console, or berth console with --url or --stack.';
const UNKNOWN = 404;
const AGAIN_MS = 1000;
/** Where there are none, the console has to be started anew to have some. */
const NONE_AGAIN_MS = 10_000;

export class DecisionStream {
  /** @param {Session} session @param {() => void} onChange @param {typeof pause} [wait] @param {number} [silenceMs] */
  constructor(session, onChange, wait = pause, silenceMs) {
    this.session = session;
    this.onChange = onChange;
    this.wait = wait;
    this.silenceMs = silenceMs;
    /** @type {Decision[]} the newest at the end */
    this.decisions = [];
    /** Why there are none, or no new ones. */
    this.problem = '';
    /** They are of a process that may have ended: the numbers of another one begin anew. */
    this.areOld = false;
  }

  /** Until the signal ends it. @param {AbortSignal} signal */
  async follow(signal) {
    // While nobody followed, the console may have been started again.
    this.areOld = true;
    while (!signal.aborted) {
      let again = AGAIN_MS;
      try {
        const since = this.areOld ? 0 : (this.decisions.at(-1)?.number ?? 0);
        await readEvents(
          this.session,
          `/api/decisions?since=${since}`,
          signal,
          (name, content) => this.receive(name, content),
          this.silenceMs,
        );
      } catch (error) {
        if (error instanceof Refused && error.status === UNKNOWN) {
          again = NONE_AGAIN_MS;
          this.problem = NONE_HERE;
          this.onChange();
        }
        // The line at the top says that the console is away.
        this.areOld ||= !(error instanceof Silence);
      }
      await this.wait(again);
    }
  }

  /** @param {string} name of the event @param {any} content */
  receive(name, content) {
    this.problem = name === 'problem' ? content.reason : '';
    if (name === 'decisions') {
      this.decisions = joined(this.areOld ? [] : this.decisions, content);
      this.areOld = false;
    }
    this.onChange();
  }
}
