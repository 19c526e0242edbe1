// The token becomes a session, a browser that is known gets another one, and a session that ended is said to have ended.

import assert from 'node:assert/strict';
import test from 'node:test';

import {
  newKey,
  NoSession,
  NotAnswered,
  Refused,
  Session,
} from '../../../../cli/berth_cli/console/page/connection/session.js';

function memory() {
  /** @type {Map<string, string>} */
  const kept = new Map();
  return {
    getItem: (/** @type {string} */ key) => kept.get(key) ?? null,
    setItem: (/** @type {string} */ key, /** @type {string} */ value) => void kept.set(key, value),
    removeItem: (/** @type {string} */ key) => void kept.delete(key),
  };
}

/** @param {Record<string, [number, unknown] | Error>} answers by method, path and credential; errors are thrown */
function server(answers) {
  /** @type {string[]} */
  const asked = [];
  const request = /** @type {typeof fetch} */ (
    async (path, options) => {
      const headers = /** @type {Record<string, string>} */ (options?.headers ?? {});
      const credential = headers.Authorization ? ` ${headers.Authorization}` : '';
      const key = headers['Berth-Browser-Key'] ? ` as ${headers['Berth-Browser-Key']}` : '';
      const question = `${options?.method ?? 'GET'} ${path}${credential}${key}`;
      asked.push(question);
      const answer = answers[question] ?? [401, { reason: 'no' }];
      if (answer instanceof Error) throw answer;
      return new Response(JSON.stringify(answer[1]), { status: answer[0] });
    }
  );
  return { request, asked };
}

const NO_KEY = { made: async () => null, existing: async () => null, sign: async () => '' };
const KEY = {
  made: async () => 'b1',
  existing: async () => 'b1',
  sign: async (/** @type {string} */ challenge) => `signed-${challenge}`,
};
const ANSWERS = /** @type {Record<string, [number, unknown]>} */ ({
  'POST /session Bearer t1': [200, { session: 'k1' }],
  'POST /session Bearer t1 as b1': [200, { session: 'k1' }],
  'GET /api/nodes Bearer k1': [200, { sequence: 4 }],
  'GET /api/pods Bearer k1': [503, { reason: 'not yet' }],
});
const RESTARTED = /** @type {Record<string, [number, unknown]>} */ ({
  'POST /session/challenge': [200, { challenge: 'c1' }],
  'POST /session/return Proof b1.c1.signed-c1': [200, { session: 'k2' }],
  'GET /api/nodes Bearer k2': [200, { sequence: 1 }],
  'GET /api/pods Bearer k2': [200, { sequence: 1 }],
});

/** @param {Record<string, [number, unknown] | Error>} answers @param {typeof KEY | typeof NO_KEY} [browser]
 * @param {string} [key] of an earlier session */
function session(answers, browser = NO_KEY, key = '') {
  const store = memory();
  if (key) store.setItem('berth-console-session', key);
  const { request, asked } = server(answers);
  return { made: new Session(store, request, browser), store, asked };
}

test('a token opens a session, which every request sends', async () => {
  const { made } = session(ANSWERS);
  assert.equal(await made.open('#token=t1'), true);
  assert.deepEqual(await made.document('/api/nodes'), { sequence: 4 });
});

test('a browser with a key tells its public part with the token', async () => {
  const { made, asked } = session(ANSWERS, KEY);
  await made.open('#token=t1');
  assert.deepEqual(asked, ['POST /session Bearer t1 as b1']);
});

test('an address without a token opens none', async () => {
  const { made } = session(ANSWERS);
  assert.equal(await made.open('#/overview'), false);
  await assert.rejects(made.get('/api/nodes'), NoSession);
});

test('a used token ends nothing that holds', async () => {
  const { made } = session(ANSWERS);
  await made.open('#token=t1');
  assert.equal(await made.open('#token=used'), true);
  assert.equal((await made.get('/api/nodes')).status, 200);
});

test('a used token without a session says so', async () => {
  await assert.rejects(session(ANSWERS).made.open('#token=used'), NoSession);
});

test('a console that is away says nothing of the token', async () => {
  const { made } = session({ 'POST /session Bearer t1': new TypeError('Failed to fetch') });
  await assert.rejects(made.open('#token=t1'), NotAnswered);
});

test('a session that the console does not know is forgotten', async () => {
  const { made, store } = session({}, NO_KEY, 'old');
  await assert.rejects(made.get('/api/nodes'), NoSession);
  assert.equal(store.getItem('berth-console-session'), null);
});

test('a refusal has its status and its reason', async () => {
  const { made } = session(ANSWERS, NO_KEY, 'k1');
  await assert.rejects(made.get('/api/pods'), (error) => {
    assert.ok(error instanceof Refused);
    assert.deepEqual([error.status, error.message], [503, 'not yet']);
    return true;
  });
});

test('a console that is away is named in words of its own', async () => {
  const { made } = session({ 'GET /api/nodes Bearer k1': new TypeError('Failed to fetch') }, NO_KEY, 'k1');
  await assert.rejects(made.document('/api/nodes'), (error) => {
    assert.ok(error instanceof NotAnswered);
    assert.equal(error.message, 'The console does not answer.');
    return true;
  });
});

test('what the page itself ends is no failure of the console', async () => {
  const ending = new AbortController();
  const stopped = new DOMException('stopped', 'AbortError');
  const { made } = session({ 'GET /api/nodes Bearer k1': stopped }, NO_KEY, 'k1');
  ending.abort();
  await assert.rejects(made.document('/api/nodes', ending.signal), (error) => error === stopped);
});

test('a browser that the console remembers gets a session after a restart', async () => {
  const { made, store } = session(RESTARTED, KEY, 'k1');
  assert.deepEqual(await made.document('/api/nodes'), { sequence: 1 });
  assert.equal(store.getItem('berth-console-session'), 'k2');
});

test('it gets one without an earlier session, too', async () => {
  assert.deepEqual(await session(RESTARTED, KEY).made.document('/api/nodes'), { sequence: 1 });
});

test('requests beside each other prove it once', async () => {
  const { made, asked } = session(RESTARTED, KEY, 'k1');
  await Promise.all([made.document('/api/nodes'), made.document('/api/pods')]);
  assert.equal(asked.filter((each) => each === 'POST /session/challenge').length, 1);
});

test('a key that another tab has got is used', async () => {
  const { made, store, asked } = session({ ...RESTARTED, 'GET /api/nodes Bearer k1': [401, {}] }, KEY, 'k1');
  const { request } = made;
  made.request = async (...given) => {
    const answer = await request(...given);
    store.setItem('berth-console-session', 'k2');
    return answer;
  };
  assert.deepEqual(await made.document('/api/nodes'), { sequence: 1 });
  assert.ok(!asked.includes('POST /session/challenge'));
});

test('a challenge that was used meanwhile is no end', async () => {
  const { made } = session(
    { ...RESTARTED, 'POST /session/return Proof b1.c1.signed-c1': [409, { reason: 'ask again' }] },
    KEY,
  );
  await assert.rejects(made.get('/api/nodes'), Refused);
});

test('a browser that the console does not remember is not tried again and again', async () => {
  const { made, asked } = session({ 'POST /session/challenge': [200, { challenge: 'c1' }] }, KEY, 'k1');
  for (let times = 0; times < 3; times += 1) await assert.rejects(made.get('/api/nodes'), NoSession);
  assert.equal(asked.filter((each) => each === 'POST /session/challenge').length, 1);
});

test('a session of another tab is noticed', async () => {
  const page = new EventTarget();
  const noticed = newKey(page);
  const tell = (/** @type {unknown} */ content) => page.dispatchEvent(Object.assign(new Event('storage'), content));
  tell({ key: 'something-else', newValue: 'x' });
  tell({ key: 'berth-console-session', newValue: null });
  let isOver = false;
  noticed.then(() => (isOver = true));
  await Promise.resolve();
  assert.equal(isOver, false);
  tell({ key: 'berth-console-session', newValue: 'k3' });
  await noticed;
});
