// Bars and lines of calls over time.

import assert from 'node:assert/strict';
import test from 'node:test';

import { callCharts } from '../../../../cli/berth_cli/console/page/model/calls.js';

const CALLS = {
  since: 100,
  seconds: 10,
  verbs: { filter: { count: [4, 0, 2, 0], median: [2, 0, 3, 0], slowest: [8, 0, 4, 0] } },
};

test('bars are beside the interval with most calls, and lines beside the slowest call', () => {
  const [{ bars, median, slowest }] = callCharts(CALLS, 200, 80);
  assert.deepEqual(bars, [
    [0, 0, 50, 80],
    [50, 80, 50, 0],
    [100, 40, 50, 40],
    [150, 80, 50, 0],
  ]);
  // Without a call there is no time.
  assert.deepEqual(slowest, [
    [25, 0],
    [125, 40],
  ]);
  assert.deepEqual(median, [
    [25, 60],
    [125, 50],
  ]);
});

test('the text says the number, the rate, and the times', () => {
  const [{ verb, text }] = callCharts(CALLS, 200, 80);
  assert.equal(verb, 'filter');
  assert.equal(
    text,
    '6 calls in 40 s (0.15 a second; bars, at most 4); last median 3.0 ms (line), slowest 8.0 ms (dashed)',
  );
});

test('each verb has its own chart', () => {
  const verbs = { ...CALLS.verbs, bind: { count: [0, 0, 0, 60], median: [0, 0, 0, 1], slowest: [0, 0, 0, 1] } };
  assert.deepEqual(
    callCharts({ ...CALLS, verbs }, 200, 80).map(({ verb, text }) => [verb, text.split(' (')[0]]),
    [
      ['filter', '6 calls in 40 s'],
      ['bind', '60 calls in 40 s'],
    ],
  );
});
