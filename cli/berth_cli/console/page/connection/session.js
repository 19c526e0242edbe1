// The session with the console: the token of the address becomes a key, which every request for data sends.

import { tokenOf } from '../model/url_state.js';

const STORED = 'berth-console-session';

/** The console does not know this browser, or not any more. */
export class NoSession extends Error {}

/** The console answered, but has nothing yet, or refused. */
export class Refused extends Error {
  /** @param {number} status @param {string} reason */
  constructor(status, reason) {
    super(reason);
    this.status = status;
  }
}

/** Where keys are kept: for this address and port only, for all tabs. Without storage the key lasts as long as the page.
 * @typedef {Pick<Storage, 'getItem' | 'setItem' | 'removeItem'>} KeyStore */

export class Session {
  /** @param {KeyStore} store @param {typeof fetch} request */
  constructor(store, request) {
    this.store = store;
    this.request = request;
  }

  /** Use up the token of a new address, if it is one. @param {string} fragment @returns {Promise<boolean>} whether it
   * was one */
  async open(fragment) {
    const token = tokenOf(fragment);
    if (token === null) return false;
    const answer = await this.request('/session', { method: 'POST', headers: bearer(token) });
    const content = await answer.json();
    // A used token in an address that is opened again: the session that it began may still hold.
    if (answer.ok) this.store.setItem(STORED, content.session);
    else if (this.store.getItem(STORED) === null) throw new NoSession(content.reason);
    return true;
  }

  /** @param {string} path @param {AbortSignal} [signal] @returns {Promise<Response>} */
  async get(path, signal) {
    const key = this.store.getItem(STORED);
    if (key === null) {
      throw new NoSession(
        'This browser has no session with this console. Open the address that berth console printed last.',
      );
    }
    const answer = await this.request(path, { headers: bearer(key), cache: 'no-store', signal });
    if (answer.ok) return answer;
    const reason = await reasonOf(answer);
    if (answer.status === 401) {
      this.store.removeItem(STORED);
      throw new NoSession(reason);
    }
    throw new Refused(answer.status, reason);
  }
}

/** @param {string} credential */
function bearer(credential) {
  return { Authorization: `Bearer ${credential}` };
}

/** @param {Response} answer @returns {Promise<string>} */
async function reasonOf(answer) {
  try {
    return String((await answer.json()).reason);
  } catch {
    return `the console answers ${answer.status}`;
  }
}
