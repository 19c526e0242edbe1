// The session with the console: exchanges the token in the address for a key, which every request for data sends.

import { tokenOf } from './model/url_state.js';

const STORED = 'berth-console-session';
const NEW_ADDRESS = 'This browser has no session with this console. Open the address that berth console printed last.';
/** The time without an answer after which a request ends: the console hangs, or the connection is dead. */
const SILENCE_MS = 20_000;

/** The console does not know this browser. */
export class NoSession extends Error {}

/** The console answered, but does not have a document yet, or refused. */
export class Refused extends Error {
  /** @param {number} status @param {string} reason */
  constructor(status, reason) {
    super(reason);
    this.status = status;
  }
}

/** The store of the key, for this address and port only, for all tabs. Another tab may store a newer key.
 * @typedef {Pick<Storage, 'getItem' | 'setItem' | 'removeItem'>} KeyStore */

export class Session {
  /** @param {KeyStore} store @param {typeof fetch} request */
  constructor(store, request) {
    this.store = store;
    this.request = request;
    this.refusal = NEW_ADDRESS;
  }

  /** Use up the token of a new address. @param {string} fragment @returns {Promise<boolean>} whether there was one */
  async open(fragment) {
    const token = tokenOf(fragment);
    if (token === null) return false;
    const answer = await this.ask('/session', { method: 'POST', headers: { Authorization: `Bearer ${token}` } });
    if (answer.ok) this.store.setItem(STORED, (await answer.json()).session);
    // If the address is opened again, its token is used up, but the session that it began may still be valid.
    else this.refusal = await reasonOf(answer);
    return true;
  }

  /** @param {string} path @param {AbortSignal} [signal] @returns {Promise<any>} the JSON of an answer */
  async document(path, signal) {
    const key = this.store.getItem(STORED);
    if (key === null) throw new NoSession(this.refusal);
    const headers = { Authorization: `Bearer ${key}` };
    const answer = await this.ask(path, { headers, cache: 'no-store', signal });
    if (answer.ok) return answer.json();
    const reason = await reasonOf(answer);
    if (answer.status !== 401) throw new Refused(answer.status, reason);
    if (this.store.getItem(STORED) === key) this.store.removeItem(STORED);
    this.refusal = reason;
    throw new NoSession(reason);
  }

  /** @param {string} path @param {RequestInit} init @returns {Promise<Response>} */
  ask(path, init) {
    const silence = AbortSignal.timeout(SILENCE_MS);
    return this.request(path, { ...init, signal: init.signal ? AbortSignal.any([init.signal, silence]) : silence });
  }
}

/** @param {Response} answer @returns {Promise<string>} */
async function reasonOf(answer) {
  try {
    return String((await answer.json()).reason);
  } catch {
    return `the console answers ${answer.status}`;
  }
}
