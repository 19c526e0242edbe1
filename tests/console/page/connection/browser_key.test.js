// The key by which the console knows a browser again.

import assert from 'node:assert/strict';
import test from 'node:test';

import { BrowserKey } from '../../../../cli/berth_cli/console/page/connection/browser_key.js';

const ORIGIN = 'http://127.0.0.1:8090';

function memory() {
  /** @type {CryptoKeyPair | undefined} */
  let kept;
  return { get: async () => kept, put: async (/** @type {CryptoKeyPair} */ pair) => void (kept = pair) };
}

/** @param {string} text */
function bytes(text) {
  return Buffer.from(text, 'base64url');
}

test('a browser has no key before one is made, and then the same one', async () => {
  const store = memory();
  const key = new BrowserKey(store, crypto.subtle, ORIGIN);
  assert.equal(await key.existing(), null);
  const made = await key.made();
  assert.equal(bytes(made ?? '').length, 65);
  assert.equal(await key.made(), made);
  assert.equal(await new BrowserKey(store, crypto.subtle, ORIGIN).existing(), made);
});

test('no script can read the private part', async () => {
  const store = memory();
  await new BrowserKey(store, crypto.subtle, ORIGIN).made();
  const pair = await store.get();
  assert.ok(pair);
  assert.equal(pair.privateKey.extractable, false);
  await assert.rejects(crypto.subtle.exportKey('pkcs8', pair.privateKey));
});

test('a proof is of one challenge and one origin', async () => {
  const key = new BrowserKey(memory(), crypto.subtle, ORIGIN);
  const name = await key.made();
  const proof = bytes(await key.sign('c1'));
  const known = await crypto.subtle.importKey('raw', bytes(name ?? ''), { name: 'ECDSA', namedCurve: 'P-256' }, true, [
    'verify',
  ]);
  const holds = (/** @type {string} */ origin, /** @type {string} */ challenge) =>
    crypto.subtle.verify(
      { name: 'ECDSA', hash: 'SHA-256' },
      known,
      proof,
      new TextEncoder().encode(`berth console session\n${origin}\n${challenge}`),
    );
  assert.equal(await holds(ORIGIN, 'c1'), true);
  assert.equal(await holds(ORIGIN, 'c2'), false);
  assert.equal(await holds('http://127.0.0.1:8091', 'c1'), false);
});

test('a browser that keeps nothing has no key', async () => {
  const refuse = async () => {
    throw new Error('not allowed');
  };
  const key = new BrowserKey({ get: refuse, put: refuse }, crypto.subtle, ORIGIN);
  assert.deepEqual([await key.existing(), await key.made()], [null, null]);
});
