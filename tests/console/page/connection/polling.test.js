// A document is asked for as long as it is shown, once at a time.

import assert from 'node:assert/strict';
import test from 'node:test';

import { Polling } from '../../../../cli/berth_cli/console/page/connection/polling.js';
import { NotAnswered, Refused } from '../../../../cli/berth_cli/console/page/connection/session.js';
import { ScriptedSession, settled } from './scripted.js';

/** @param {Record<string, unknown[]>} answers @param {boolean} [isPeriodic] */
function polling(answers, isPeriodic = false) {
  const session = new ScriptedSession(answers);
  /** @type {unknown[]} */
  const told = [];
  /** @type {number[]} */
  const waits = [];
  let now = 0;
  const clock = () => (now += 40);
  const options = {
    pauseMs: 30,
    isPeriodic,
    onAnswer: (/** @type {unknown} */ content) => told.push(content),
    onProblem: (/** @type {string} */ problem) => told.push(`problem: ${problem}`),
  };
  const made = new Polling(/** @type {any} */ (session), options, async (pause) => void waits.push(pause), clock);
  return { made, session, told, waits };
}

test('without a change it is asked once', async () => {
  const { made, told, session } = polling({ '/d': [1, 2] });
  made.ask('/d');
  made.ask('/d');
  await settled();
  assert.deepEqual([told, session.asked], [[1], ['/d']]);
});

test('after a change it is asked again', async () => {
  const { made, told } = polling({ '/d': [1, 2] });
  made.ask('/d');
  await settled();
  made.outdate();
  await settled();
  assert.deepEqual(told, [1, 2]);
});

test('a change while it is asked is not forgotten', async () => {
  const { made, told } = polling({ '/d': [1, 2] });
  made.ask('/d');
  made.outdate();
  await settled();
  assert.deepEqual(told, [1, 2]);
});

test('between two questions there is at least the time that the answer took', async () => {
  const { made, waits } = polling({ '/d': [1] });
  made.ask('/d');
  await settled();
  assert.deepEqual(waits, [40]);
});

test('a periodic one is asked again and again, until it is not shown', async () => {
  const { made, told, session } = polling({ '/d': [1, 2, 3] }, true);
  made.ask('/d');
  await settled();
  assert.deepEqual([told, session.asked.length], [[1, 2, 3], 4]);
  made.ask('');
  await settled();
  assert.equal(session.asked.length, 4);
});

test('the answer to what is not shown any more is dropped', async () => {
  const { made, told } = polling({ '/d': [1], '/other': ['other'] });
  made.ask('/d');
  made.ask('/other');
  await settled();
  assert.deepEqual(told, ['other']);
});

test('what is shown again is asked again', async () => {
  const { made, told } = polling({ '/d': [1, 2] });
  made.ask('/d');
  await settled();
  made.ask('');
  made.ask('/d');
  await settled();
  assert.deepEqual(told, [1, 2]);
});

test('what failed is asked again', async () => {
  const { made, told } = polling({ '/d': [new Refused(503, 'not yet'), 1] });
  made.ask('/d');
  await settled();
  assert.deepEqual(told, ['problem: not yet', 1]);
});

for (const isPeriodic of [true, false]) {
  test(`what there is not waits for a change; periodic: ${isPeriodic}`, async () => {
    const { made, told, session } = polling({ '/d': [new Refused(404, 'is gone')] }, isPeriodic);
    made.ask('/d');
    await settled();
    assert.deepEqual([told, session.asked], [['problem: is gone'], ['/d']]);
    made.outdate();
    await settled();
    assert.equal(session.asked.length, 2);
  });
}

test('an answer stays while the console is away', async () => {
  const { made, told } = polling({ '/d': [1, new NotAnswered(), 2] }, true);
  made.ask('/d');
  await settled();
  assert.deepEqual(told, [1, 2]);
});

test('without an answer it says that the console is away', async () => {
  const { made, told } = polling({ '/d': [new NotAnswered(), 1] });
  made.ask('/d');
  await settled();
  assert.deepEqual(told, ['problem: The console does not answer.', 1]);
});
