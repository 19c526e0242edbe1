// The session with the console: the token of the address becomes a key, which every request for data sends. After the
// console was started again, this browser proves that it is the one that had a session.

import { tokenOf } from '../model/url_state.js';

const STORED = 'berth-console-session';
const NEW_ADDRESS = 'This browser has no session with this console. Open the address that berth console printed last.';
const UNAUTHORIZED = 401;

/** The console does not know this browser, or not any more. */
export class NoSession extends Error {}

/** Nothing answers: the console has ended, or hangs. */
export class NotAnswered extends Error {
  constructor() {
    super('The console does not answer.');
  }
}

/** The console answered, but has nothing yet, or refused. */
export class Refused extends Error {
  /** @param {number} status @param {string} reason */
  constructor(status, reason) {
    super(reason);
    this.status = status;
  }
}

/** Where keys are kept: for this address and port only, for all tabs. Without storage the key lasts as long as the page.
 * @typedef {Pick<Storage, 'getItem' | 'setItem' | 'removeItem'>} KeyStore
 *
 * @typedef {Pick<import('./browser_key.js').BrowserKey, 'made' | 'existing' | 'sign'>} Browser */

export class Session {
  /** @param {KeyStore} store @param {typeof fetch} request @param {Browser} browser */
  constructor(store, request, browser) {
    this.store = store;
    this.request = request;
    this.browser = browser;
    /** @type {Promise<void> | null} */
    this.returning = null;
    /** @type {NoSession | null} what the console has said to this browser */
    this.refusal = null;
  }

  /** Use up the token of a new address, if it is one. @param {string} fragment @returns {Promise<boolean>} whether it
   * was one */
  async open(fragment) {
    const token = tokenOf(fragment);
    if (token === null) return false;
    const browser = await this.browser.made();
    const answer = await this.post('/session', `Bearer ${token}`, browser ? { 'Berth-Browser-Key': browser } : {});
    // A used token in an address that is opened again: the session that it began may still hold.
    if (answer.ok) this.store.setItem(STORED, (await answer.json()).session);
    else if (this.store.getItem(STORED) === null) throw new NoSession(await reasonOf(answer));
    return true;
  }

  /** @param {string} path @param {AbortSignal} [signal] @returns {Promise<any>} what the JSON of an answer says */
  async document(path, signal) {
    const answer = await this.get(path, signal);
    return answered(answer.json(), signal);
  }

  /** @param {string} path @param {AbortSignal} [signal] @returns {Promise<Response>} */
  async get(path, signal) {
    const key = this.store.getItem(STORED);
    if (key !== null) {
      const answer = await this.ask(path, key, signal);
      if (answer.status !== UNAUTHORIZED) return accepted(answer);
      // Another tab may have a newer one by now.
      if (this.store.getItem(STORED) === key) this.store.removeItem(STORED);
    }
    return accepted(await this.ask(path, await this.renewed(), signal));
  }

  /** @returns {Promise<string>} a key that the console has given since it was started */
  async renewed() {
    if (this.store.getItem(STORED) === null) {
      if (this.refusal) throw this.refusal;
      this.returning ??= this.comeBack().finally(() => {
        this.returning = null;
      });
      await this.returning;
    }
    return this.store.getItem(STORED) ?? '';
  }

  /** A session without a token, for a browser that the console remembers. */
  async comeBack() {
    try {
      const browser = await this.browser.existing();
      if (browser === null) throw new NoSession(NEW_ADDRESS);
      const { challenge } = await (await accepted(await this.post('/session/challenge'))).json();
      const proof = await this.browser.sign(challenge);
      const answer = await accepted(await this.post('/session/return', `Proof ${browser}.${challenge}.${proof}`));
      this.store.setItem(STORED, (await answer.json()).session);
    } catch (error) {
      if (error instanceof NoSession) this.refusal = error;
      throw error;
    }
  }

  /** @param {string} path @param {string} key @param {AbortSignal} [signal] */
  ask(path, key, signal) {
    return answered(
      this.request(path, { headers: { Authorization: `Bearer ${key}` }, cache: 'no-store', signal }),
      signal,
    );
  }

  /** @param {string} path @param {string} [credential] @param {Record<string, string>} [more] */
  post(path, credential, more = {}) {
    const headers = { ...more, ...(credential ? { Authorization: credential } : {}) };
    return answered(this.request(path, { method: 'POST', headers }));
  }
}

/** @template T @param {Promise<T>} request @param {AbortSignal} [signal] @returns {Promise<T>} */
async function answered(request, signal) {
  try {
    return await request;
  } catch (error) {
    // Browsers have a text of their own for each cause, and none that helps.
    if (signal?.aborted) throw error;
    throw new NotAnswered();
  }
}

/** @param {Response} answer @returns {Promise<Response>} */
async function accepted(answer) {
  if (answer.ok) return answer;
  const reason = await reasonOf(answer);
  if (answer.status === UNAUTHORIZED) throw new NoSession(reason);
  throw new Refused(answer.status, reason);
}

/** @param {Response} answer @returns {Promise<string>} */
async function reasonOf(answer) {
  try {
    return String((await answer.json()).reason);
  } catch {
    return `the console answers ${answer.status}`;
  }
}

/** When another tab of this browser has opened a session. @param {EventTarget} page @returns {Promise<void>} */
export function newKey(page) {
  return new Promise((resolve) => {
    const listen = (/** @type {any} */ { key, newValue }) => {
      if (key !== STORED || newValue === null) return;
      page.removeEventListener('storage', listen);
      resolve();
    };
    page.addEventListener('storage', listen);
  });
}
