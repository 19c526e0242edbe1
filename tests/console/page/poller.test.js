// A document is polled while it is shown, with one request at a time.

import assert from 'node:assert/strict';
import test from 'node:test';

import { Poller } from '../../../cli/berth_cli/console/page/poller.js';
import { Refused } from '../../../cli/berth_cli/console/page/session.js';

/** Waits until all pending callbacks have run. */
function settled() {
  return new Promise((resolve) => {
    setTimeout(resolve, 5);
  });
}

/** Creates a promise, and the function that resolves it.
 * @returns {[Promise<unknown>, (value: unknown) => void]} */
function deferred() {
  /** @type {(value: unknown) => void} */
  let arrive = () => {};
  const promise = new Promise((resolve) => {
    arrive = resolve;
  });
  return [promise, arrive];
}

/** Creates a poller. Its session returns the answers in order or throws errors; further requests wait for an abort.
 * @param {Record<string, unknown[]>} answers by path @param {boolean} [hasState] */
function polling(answers, hasState = true) {
  /** @type {string[]} */
  const asked = [];
  /** @type {unknown[]} */
  const told = [];
  const shown = { path: '', state: 0 };
  const session = {
    document: async (/** @type {string} */ path, /** @type {AbortSignal | undefined} */ signal) => {
      asked.push(path);
      const answer = answers[path]?.shift();
      if (answer === undefined) {
        await new Promise((_, reject) => {
          signal?.addEventListener('abort', reject);
        });
      }
      await Promise.resolve();
      if (answer instanceof Error) throw answer;
      return answer;
    },
  };
  /** @type {() => void} */
  let passed = () => {};
  const wait = () =>
    new Promise((/** @type {(value: void) => void} */ resolve) => {
      passed = resolve;
    });
  const made = new Poller(
    session,
    {
      path: () => shown.path,
      pauseMs: 30,
      state: hasState ? () => shown.state : undefined,
      onAnswer: (content) => told.push(content),
      onRefusal: (reason) => told.push(`refused: ${reason}`),
      onLost: () => told.push('lost'),
    },
    wait,
  );
  /** Shows a path, and lets some pauses pass. @param {string} path @param {number} [pauses] */
  const show = async (path, pauses = 3) => {
    shown.path = path;
    made.wake();
    await settled();
    for (let number = 0; number < pauses; number += 1) {
      passed();
      await settled();
    }
  };
  return { show, shown, asked, told };
}

test('a path is requested once as long as its state does not change', async () => {
  const { show, told, asked } = polling({ '/d': [1, 2] });
  await show('/d');
  assert.deepEqual([told, asked], [[1], ['/d']]);
});

test('a new path is requested at once, and a path that is shown again is requested again', async () => {
  const { show, told } = polling({ '/d': [1, 2], '/other': ['other'] });
  await show('/d', 0);
  await show('/other', 0);
  await show('/d', 0);
  assert.deepEqual(told, [1, 'other', 2]);
});

test('a path without a state is requested repeatedly until it is no longer shown', async () => {
  const { show, told, asked } = polling({ '/d': [1, 2, 3, 4, 5] }, false);
  await show('/d', 2);
  assert.deepEqual(told, [1, 2, 3]);
  await show('');
  assert.equal(asked.length, 3);
});

test('a path whose state has changed is requested again only after the pause', async () => {
  const { show, shown, told, asked } = polling({ '/d': [1, 2] });
  await show('/d', 0);
  shown.state = 1;
  await show('/d', 0);
  assert.deepEqual([told, asked.length], [[1], 1]);
  await show('/d', 2);
  assert.deepEqual([told, asked.length], [[1, 2], 2]);
});

test('an aborted request for a path that is no longer shown is not reported', async () => {
  const { show, told } = polling({ '/other': ['other'] });
  await show('/never answered', 0);
  await show('/other', 0);
  assert.deepEqual(told, ['other']);
});

test('an answer that arrives after another path is shown is not reported', async () => {
  const [late, arrive] = deferred();
  const { show, told } = polling({ '/d': [late], '/other': ['other'] });
  await show('/d', 0);
  await show('/other', 0);
  arrive('late');
  await settled();
  assert.deepEqual(told, ['other']);
});

test('a state that changes during a request does not abort the request', async () => {
  const [late, arrive] = deferred();
  const { show, shown, told, asked } = polling({ '/d': [late, 2] });
  await show('/d', 0);
  shown.state = 1;
  await show('/d', 0);
  arrive(1);
  await settled();
  assert.deepEqual([told, asked.length], [[1], 1]);
  await show('/d', 1);
  assert.deepEqual(told, [1, 2]);
});

test('a document that is not available yet is requested again', async () => {
  const { show, told } = polling({ '/d': [new Refused(503, 'not yet'), 1] });
  await show('/d');
  assert.deepEqual(told, ['refused: not yet', 1]);
});

test('a missing document is requested again only if the state changes', async () => {
  const { show, shown, told, asked } = polling({ '/d': [new Refused(404, 'is gone'), 1] });
  await show('/d');
  assert.deepEqual([told, asked], [['refused: is gone'], ['/d']]);
  shown.state = 1;
  await show('/d');
  assert.deepEqual(told, ['refused: is gone', 1]);
});

test('a request that the console does not answer is repeated', async () => {
  const { show, told } = polling({ '/d': [new TypeError('away'), 1] });
  await show('/d');
  assert.deepEqual(told, ['lost', 1]);
});
