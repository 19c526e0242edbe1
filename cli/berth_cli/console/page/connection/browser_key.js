// The key by which the console knows this browser again after it was started anew. The browser makes it and never gives
// its private part to a script, so a program that answers on the console's port cannot take it along.

const ALGORITHM = { name: 'ECDSA', namedCurve: 'P-256' };
const SIGNATURE = { name: 'ECDSA', hash: 'SHA-256' };
const DATABASE = 'berth-console';
const KEYS = 'keys';
const OWN = 'browser';

/** Where the pair is kept: for this address and port only, for all tabs.
 * @typedef {{get: () => Promise<CryptoKeyPair | undefined>, put: (pair: CryptoKeyPair) => Promise<unknown>}} PairStore */

export class BrowserKey {
  /** @param {PairStore} store @param {SubtleCrypto} subtle @param {string} origin of this page */
  constructor(store, subtle, origin) {
    this.store = store;
    this.subtle = subtle;
    this.origin = origin;
  }

  /** @returns {Promise<string | null>} the public key; null: none was made, or this browser keeps none */
  async existing() {
    try {
      const pair = await this.store.get();
      return pair ? await this.named(pair) : null;
    } catch {
      return null;
    }
  }

  /** @returns {Promise<string | null>} the public key, made where there was none; null: this browser keeps none */
  async made() {
    const existing = await this.existing();
    if (existing !== null) return existing;
    try {
      const pair = await this.subtle.generateKey(ALGORITHM, false, ['sign', 'verify']);
      await this.store.put(pair);
      return await this.named(pair);
    } catch {
      return null;
    }
  }

  /** @param {string} challenge of the console @returns {Promise<string>} the proof, for this origin only */
  async sign(challenge) {
    const pair = await this.store.get();
    if (!pair) throw new Error('this browser has no key');
    const text = new TextEncoder().encode(`berth console session\n${this.origin}\n${challenge}`);
    return base64(await this.subtle.sign(SIGNATURE, pair.privateKey, text));
  }

  /** @param {CryptoKeyPair} pair */
  async named(pair) {
    return base64(await this.subtle.exportKey('raw', pair.publicKey));
  }
}

/** @param {IDBFactory} databases @returns {PairStore} */
export function pairStore(databases) {
  /** @template T @param {IDBTransactionMode} mode @param {(keys: IDBObjectStore) => IDBRequest<T>} act
   * @returns {Promise<T>} */
  const inDatabase = async (mode, act) => {
    const opening = databases.open(DATABASE, 1);
    opening.onupgradeneeded = () => opening.result.createObjectStore(KEYS);
    const database = await done(opening);
    try {
      return await done(act(database.transaction(KEYS, mode).objectStore(KEYS)));
    } finally {
      database.close();
    }
  };
  return {
    get: () => inDatabase('readonly', (keys) => keys.get(OWN)),
    put: (pair) => inDatabase('readwrite', (keys) => keys.put(pair, OWN)),
  };
}

/** @template T @param {IDBRequest<T>} request @returns {Promise<T>} */
function done(request) {
  return new Promise((resolve, reject) => {
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(request.error);
  });
}

/** As in URLs: it goes into header fields. @param {ArrayBuffer} bytes */
function base64(bytes) {
  const text = btoa(String.fromCharCode(...new Uint8Array(bytes)));
  return text.replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '');
}
