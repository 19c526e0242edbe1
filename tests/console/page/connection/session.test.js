// The token becomes a session, and a session that ended is said to have ended.

import assert from 'node:assert/strict';
import test from 'node:test';

import { NoSession, Refused, Session } from '../../../../cli/berth_cli/console/page/connection/session.js';

function memory() {
  /** @type {Map<string, string>} */
  const kept = new Map();
  return {
    getItem: (/** @type {string} */ key) => kept.get(key) ?? null,
    setItem: (/** @type {string} */ key, /** @type {string} */ value) => void kept.set(key, value),
    removeItem: (/** @type {string} */ key) => void kept.delete(key),
  };
}

/** @param {Record<string, [number, unknown]>} answers by method, path and credential */
function server(answers) {
  return /** @type {typeof fetch} */ (
    async (path, options) => {
      const credential = /** @type {Record<string, string>} */ (options?.headers ?? {}).Authorization;
      const [status, content] = answers[`${options?.method ?? 'GET'} ${path} ${credential}`] ?? [401, { reason: 'no' }];
      return new Response(JSON.stringify(content), { status });
    }
  );
}

const ANSWERS = /** @type {Record<string, [number, unknown]>} */ ({
  'POST /session Bearer t1': [200, { session: 'k1' }],
  'GET /api/nodes Bearer k1': [200, { sequence: 4 }],
  'GET /api/pods Bearer k1': [503, { reason: 'not yet' }],
});

test('a token opens a session, which every request sends', async () => {
  const session = new Session(memory(), server(ANSWERS));
  assert.equal(await session.open('#token=t1'), true);
  assert.deepEqual(await (await session.get('/api/nodes')).json(), { sequence: 4 });
});

test('an address without a token opens none', async () => {
  const session = new Session(memory(), server(ANSWERS));
  assert.equal(await session.open('#/overview'), false);
  await assert.rejects(session.get('/api/nodes'), NoSession);
});

test('a used token ends nothing that holds', async () => {
  const store = memory();
  const session = new Session(store, server(ANSWERS));
  await session.open('#token=t1');
  assert.equal(await session.open('#token=used'), true);
  assert.equal((await session.get('/api/nodes')).status, 200);
});

test('a used token without a session says so', async () => {
  await assert.rejects(new Session(memory(), server(ANSWERS)).open('#token=used'), NoSession);
});

test('a session that the console does not know is forgotten', async () => {
  const store = memory();
  const session = new Session(store, server({ 'POST /session Bearer t1': [200, { session: 'old' }] }));
  await session.open('#token=t1');
  await assert.rejects(session.get('/api/nodes'), NoSession);
  assert.equal(store.getItem('berth-console-session'), null);
});

test('a refusal has its status and its reason', async () => {
  const session = new Session(memory(), server(ANSWERS));
  await session.open('#token=t1');
  await assert.rejects(session.get('/api/pods'), (error) => {
    assert.ok(error instanceof Refused);
    assert.deepEqual([error.status, error.message], [503, 'not yet']);
    return true;
  });
});
