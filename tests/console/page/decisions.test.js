// Decisions: what the page keeps, and the rows of its table.

import assert from 'node:assert/strict';
import test from 'node:test';

import { decisionTable, joined, MOST_DECISIONS, scoreBars } from '../../../cli/berth_cli/console/page/model/decisions.js';

/** @param {number} number @param {Partial<import('../../../cli/berth_cli/console/page/model/decisions.js').Decision>} [more] */
function decision(number, more = {}) {
  return {
    number, time: 0, verb: 'filter', namespace: 'ml', name: 'p', outcome: 'ok', milliseconds: 1.25, profile: 'full',
    cacheAgeSeconds: 1, nodes: 3, feasible: 1, chosen: null, reasons: [], best: [], ...more,
  };
}

test('decisions that came twice are kept once, and the oldest go', () => {
  assert.deepEqual(joined([decision(1), decision(2)], [decision(2), decision(3)]).map(({ number }) => number), [1, 2, 3]);
  const many = joined([], Array.from({ length: MOST_DECISIONS + 5 }, (_, at) => decision(at + 1)));
  assert.deepEqual([many.length, many[0].number], [MOST_DECISIONS, 6]);
});

test('a row says how many nodes fit, and why the others do not', () => {
  const reasons = [{ reason: 'Insufficient cpu', plugin: 'NodeResourcesFit', count: 2, nodes: ['a', 'b'] }];
  const [row] = decisionTable([decision(7, { reasons })]).rows;
  assert.deepEqual(row.texts.slice(1), ['filter', 'ml/p', 'ok', '1 of 3', '2 × Insufficient cpu', '1.3']);
  assert.equal(row.key, '7');
});

test('without a rule all nodes pass, and a score names the best', () => {
  const best = [{ node: 'b', score: 20, byPlugin: null }];
  const [passed, scored] = decisionTable([decision(1, { feasible: null }), decision(2, { verb: 'prioritize', best })]).rows;
  assert.equal(passed.texts[4], 'all 3');
  assert.equal(scored.texts[5], 'best: b (20)');
});

test('bars are beside the best score', () => {
  const found = {
    ...decision(1, { best: [{ node: 'b', score: 20, byPlugin: { NodePriorityLabel: 20 } }] }),
    rejected: [],
    scores: [{ node: 'a', score: 5 }, { node: 'b', score: 20 }, { node: 'c', score: 0 }],
  };
  assert.deepEqual(scoreBars(found, 2), [
    { node: 'b', score: 20, share: 1, byPlugin: { NodePriorityLabel: 20 } },
    { node: 'a', score: 5, share: 0.25, byPlugin: null },
  ]);
});
