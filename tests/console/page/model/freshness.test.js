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
  ['before the first answer', undefined, ['loading', 'Reading the cluster …']],
  [
    'the cluster is being listed',
    (found) => found.lose('loading', 'the cluster is being listed'),
    ['loading', 'Waiting for the cluster: the cluster is being listed'],
  ],
  ['all is well', (found) => found.observe(FRESH), ['current', 'a cluster, current']],
  [
    'nothing was observed yet',
    (found) => found.observe({ ageSeconds: null, problem: '' }),
    ['current', 'a cluster, current'],
  ],
  [
    'the source cannot be read',
    (found) => found.observe({ ageSeconds: 20, problem: 'no network' }),
    ['stale', 'a cluster: The data is 20 s old. no network'],
  ],
  [
    'data that nobody renews grows old',
    (found, pass) => {
      found.observe(FRESH);
      pass(180);
    },
    ['stale', 'a cluster: The data is 3 min old.'],
  ],
  [
    'the configuration has a limit of its own',
    (found, pass) => {
      found.observe({ ...FRESH, maxStalenessSeconds: 60 });
      pass(60);
    },
    ['stale', 'a cluster: The data is 61 s old.'],
  ],
  [
    'the limit is longer',
    (found, pass) => {
      found.observe({ ...FRESH, maxStalenessSeconds: 600 });
      pass(300);
    },
    ['current', 'a cluster, current'],
  ],
  [
    'the console is away',
    (found, pass) => {
      found.observe(FRESH);
      found.lose('disconnected', '');
      pass(4);
    },
    ['disconnected', 'The console does not answer; trying again every second. The data is 5 s old.'],
  ],
  [
    'the console is back',
    (found, pass) => {
      found.lose('disconnected', '');
      pass(7);
      found.observe(FRESH);
    },
    ['current', 'a cluster, current'],
  ],
  [
    'nothing more is tried',
    (found) => found.lose('closed', 'open another address'),
    ['closed', 'open another address'],
  ],
])) {
  test(title, () => assert.deepEqual(after(act), wanted));
}
