// Facts of the health view.

import assert from 'node:assert/strict';
import test from 'node:test';

import {
  ageLine,
  changeBars,
  factGroups,
  reservationTexts,
} from '../../../../cli/berth_cli/console/page/model/health.js';

const CONSOLE = { sequence: 3, ageSeconds: 2, problem: '' };

test('a dump has facts of the console only', () => {
  assert.deepEqual(factGroups({ console: CONSOLE, samples: [] }), [
    {
      title: 'This console',
      problem: '',
      facts: [
        ['data observed', '2 s ago'],
        ['changes seen', '2'],
      ],
    },
  ]);
});

test('cache, leader, publications and reservations have a group each', () => {
  const groups = factGroups({
    console: CONSOLE,
    samples: [],
    cache: { status: 'ok', observedAgeSeconds: 1, maxStalenessSeconds: 180, configurationHash: '' },
    leader: { holder: 'watcher-1', renewedSecondsAgo: 3, leaseDurationSeconds: 15, transitions: 4 },
    published: {
      version: 17,
      heartbeatAgeSeconds: 1,
      logBytes: 2048,
      snapshotBytes: null,
      snapshotAgeSeconds: null,
      resources: { nodes: { ageSeconds: 1, listedAgeSeconds: 60 } },
    },
    reservations: { count: 2, open: 1, owed: 0, rebuilding: 0, reservations: [] },
    gangs: { count: 3, open: 'ml/train', states: { open: 1, 'does-not-fit': 2 } },
  });
  assert.deepEqual(
    groups.map(({ title }) => title),
    ['This console', 'Node cache', 'Leader', 'Published', 'Reservations', 'Gangs'],
  );
  assert.deepEqual(groups[5].facts, [
    ['all', '3'],
    ['being placed', 'ml/train'],
    ['open', '1'],
    ['does-not-fit', '2'],
  ]);
  assert.deepEqual(groups[2].facts[0], ['holder', 'watcher-1']);
  assert.deepEqual(groups[3].facts.slice(2), [
    ['log since the snapshot', '2 Ki'],
    ['snapshot', 'none, never'],
    ['nodes', 'observed 1 s ago, listed 60 s ago'],
  ]);
  assert.ok(groups.every(({ problem }) => problem === ''));
});

test('calls say which part of all they are, or why there are none', () => {
  const calls = { since: 0, seconds: 1, verbs: {} };
  const groupOf = (/** @type {object} */ more) =>
    factGroups({ console: CONSOLE, samples: [], calls: { ...calls, ...more } }).slice(1);
  assert.deepEqual(groupOf({ note: 'a part of them' }), [
    { title: 'Calls', problem: '', facts: [['charts', 'a part of them']] },
  ]);
  assert.deepEqual(groupOf({ problem: 'apply decisions: table' }), [
    { title: 'Calls', problem: 'apply decisions: table', facts: [] },
  ]);
  assert.deepEqual(groupOf({ note: '' }), []);
});

test('a server that does not say its leader has no group for it', () => {
  const groups = factGroups({ console: CONSOLE, samples: [], cache: { status: 'ok' } });
  assert.deepEqual(
    groups.map(({ title }) => title),
    ['This console', 'Node cache'],
  );
});

test('each group has its own problem', () => {
  const groups = factGroups({
    console: { ...CONSOLE, problem: 'no answer' },
    samples: [],
    cache: { status: 'failure-cache-unavailable', reason: 'nothing is published' },
    leader: { holder: '' },
    published: null,
    reservations: { problem: 'the ledger throttles' },
  });
  assert.deepEqual(
    groups.map(({ problem }) => problem),
    ['no answer', 'nothing is published', 'the lease is free: no watcher runs', 'the ledger throttles'],
  );
});

test('the line goes from the oldest to the newest and fits its field', () => {
  const { points, most } = ageLine(
    [
      [100, 0, 1],
      [110, 4, 1],
      [120, 2, 2],
    ],
    200,
    50,
  );
  assert.equal(most, 4);
  assert.deepEqual(points, [
    [0, 50],
    [100, 0],
    [200, 25],
  ]);
  assert.deepEqual(ageLine([], 200, 50).points, []);
});

test('changes are bars as wide as the time between two samples, and as high as their rate', () => {
  const { bars, text } = changeBars(
    [
      [100, 0, 1],
      [110, 0, 6],
      [110.5, 0, 6],
      [120, 0, 6],
      [140, 0, 11],
    ],
    200,
    80,
  );
  assert.deepEqual(bars, [
    [0, 0, 50, 80],
    [100, 40, 100, 40],
  ]);
  assert.equal(text, '10 changes (bars, at most 0.5 a second)');
});

test('without a change there are no bars', () => {
  const samples = /** @type {[number, number, number][]} */ ([
    [100, 0, 7],
    [102, 0, 7],
  ]);
  assert.deepEqual(changeBars(samples, 200, 80), { bars: [], text: '0 changes' });
});

test('a reservation says what it holds', () => {
  const each = {
    pod: 'ml/p',
    node: 'n1',
    state: 'bound',
    holds: { 'example.com/licence': 2 },
    why: 'the pod is on this node',
  };
  assert.deepEqual(reservationTexts(each), ['ml/p', 'n1', 'bound', '2 example.com/licence', 'the pod is on this node']);
});
