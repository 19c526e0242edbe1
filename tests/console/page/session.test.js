// A token opens a session, and the page reports a session that has ended.

import assert from 'node:assert/strict';
import test from 'node:test';

import { NoSession, Refused, Session } from '../../../cli/berth_cli/console/page/session.js';

const STORED = 'berth-console-session';

/** @param {Record<string, [number, unknown] | Error>} answers by method, path and credential; errors are thrown
 * @param {string} [key] of an earlier session */
function session(answers, key = '') {
  /** @type {Map<string, string>} */
  const kept = new Map(key ? [[STORED, key]] : []);
  const store = {
    getItem: (/** @type {string} */ name) => kept.get(name) ?? null,
    setItem: (/** @type {string} */ name, /** @type {string} */ value) => void kept.set(name, value),
    removeItem: (/** @type {string} */ name) => void kept.delete(name),
  };
  const request = /** @type {typeof fetch} */ (
    async (path, options) => {
      const { Authorization } = /** @type {Record<string, string>} */ (options?.headers ?? {});
      const answer = answers[`${options?.method ?? 'GET'} ${path} ${Authorization}`] ?? [401, { reason: 'no' }];
      if (answer instanceof Error) throw answer;
      return new Response(JSON.stringify(answer[1]), { status: answer[0] });
    }
  );
  return { made: new Session(store, request), kept };
}

const ANSWERS = /** @type {Record<string, [number, unknown]>} */ ({
  'POST /session Bearer t1': [200, { session: 'k1' }],
  'GET /api/cluster Bearer k1': [200, { sequence: 4 }],
  'GET /api/pods Bearer k1': [503, { reason: 'not yet' }],
});

test('a token opens a session, and requests send its key', async () => {
  const { made } = session(ANSWERS);
  assert.equal(await made.open('#token=t1'), true);
  assert.deepEqual(await made.document('/api/cluster'), { sequence: 4 });
});

test('an address without a token uses the existing session', async () => {
  const { made } = session(ANSWERS, 'k1');
  assert.equal(await made.open('#/pending'), false);
  assert.deepEqual(await made.document('/api/cluster'), { sequence: 4 });
});

test('a token that was used before does not end the existing session', async () => {
  const { made } = session(ANSWERS, 'k1');
  await made.open('#token=used');
  assert.deepEqual(await made.document('/api/cluster'), { sequence: 4 });
});

test('a document is not requested without a session, and the error gives the reason', async () => {
  const { made } = session({ 'POST /session Bearer used': [401, { reason: 'this address was used before' }] });
  await assert.rejects(made.document('/api/cluster'), /Open the address that berth console printed last/);
  await made.open('#token=used');
  await assert.rejects(made.document('/api/cluster'), new NoSession('this address was used before'));
});

test('a session that the console refuses is forgotten, and a newer one of another tab is used', async () => {
  const { made, kept } = session(ANSWERS, 'old');
  await assert.rejects(made.document('/api/cluster'), new NoSession('no'));
  assert.equal(kept.has(STORED), false);
  kept.set(STORED, 'k1');
  assert.deepEqual(await made.document('/api/cluster'), { sequence: 4 });
});

test('a refused session does not remove the newer session that another tab has stored meanwhile', async () => {
  const { made, kept } = session({ 'GET /api/cluster Bearer old': [401, { reason: 'no' }] }, 'old');
  const refused = made.document('/api/cluster');
  kept.set(STORED, 'k1');
  await assert.rejects(refused, NoSession);
  assert.equal(kept.get(STORED), 'k1');
});

test('a refusal is thrown with its status and its reason', async () => {
  const { made } = session(ANSWERS, 'k1');
  await assert.rejects(made.document('/api/pods'), new Refused(503, 'not yet'));
});

test('a failed request throws its error and keeps the session', async () => {
  const { made, kept } = session({ 'GET /api/cluster Bearer k1': new TypeError('Failed to fetch') }, 'k1');
  await assert.rejects(made.document('/api/cluster'), TypeError);
  assert.equal(kept.get(STORED), 'k1');
});
