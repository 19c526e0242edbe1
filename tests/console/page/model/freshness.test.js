// The status line at the top of the page.

import assert from 'node:assert/strict';
import test from 'node:test';

import { Freshness } from '../../../../cli/berth_cli/console/page/model/freshness.js';

/** @param {(freshness: Freshness, pass: (seconds: number) => void) => void} [act] */
function after(act = () => {}) {
  let now = 1e6;
  const made = new Freshness(() => now);
  made.name = 'a cluster';
  act(made, (seconds) => void (now += seconds * 1000));
  return [made.kind, made.sentence];
}

const FRESH = { ageSeconds: 1, problem: '' };

for (const [title, act, wanted] of /** @type {[string, Parameters<typeof after>[0], string[]][]} */ ([
  ['status is loading before the first answer', undefined, ['loading', 'Reading the cluster …']],
  [
    'status is loading and shows the reason while the cluster is being listed',
    (found) => found.lose('loading', 'the cluster is being listed'),
    ['loading', 'Waiting for the cluster: the cluster is being listed'],
  ],
  ['status is current with fresh data', (found) => found.observe(FRESH), ['current', 'a cluster, current']],
  [
    'status is current if the age of the data is unknown',
    (found) => found.observe({ ageSeconds: null, problem: '' }),
    ['current', 'a cluster, current'],
  ],
  [
    'status is stale and shows the problem if the source cannot be read',
    (found) => found.observe({ ageSeconds: 20, problem: 'no network' }),
    ['stale', 'a cluster: The data is 20 s old. no network'],
  ],
  [
    'data that is not renewed becomes stale',
    (found, pass) => {
      found.observe(FRESH);
      pass(180);
    },
    ['stale', 'a cluster: The data is 3 min old.'],
  ],
  [
    'data is stale above the shorter limit of the configuration',
    (found, pass) => {
      found.observe({ ...FRESH, maxStalenessSeconds: 60 });
      pass(60);
    },
    ['stale', 'a cluster: The data is 61 s old.'],
  ],
  [
    'data stays current below the longer limit of the configuration',
    (found, pass) => {
      found.observe({ ...FRESH, maxStalenessSeconds: 600 });
      pass(300);
    },
    ['current', 'a cluster, current'],
  ],
  [
    'status is disconnected and the data ages while the console does not answer',
    (found, pass) => {
      found.observe(FRESH);
      found.lose('disconnected', '');
      pass(4);
    },
    ['disconnected', 'The console does not answer; trying again every second. The data is 5 s old.'],
  ],
  [
    'status is current when the console answers again',
    (found, pass) => {
      found.lose('disconnected', '');
      pass(7);
      found.observe(FRESH);
    },
    ['current', 'a cluster, current'],
  ],
  [
    'status is closed and shows only its detail when the page stops trying',
    (found) => found.lose('closed', 'open another address'),
    ['closed', 'open another address'],
  ],
])) {
  test(title, () => assert.deepEqual(after(act), wanted));
}
