// Decisions: the rows of their table, and the details of one decision.

import assert from 'node:assert/strict';
import test from 'node:test';

import {
  decisionTable,
  factsOf,
  nodesText,
  scoreBars,
} from '../../../../cli/berth_cli/console/page/model/decisions.js';

/** @param {number} number @param {Partial<import('../../../../cli/berth_cli/console/page/model/decisions.js').Decision>} [more] */
function decision(number, more = {}) {
  return {
    key: `${number}@0`,
    time: 0,
    verb: 'filter',
    namespace: 'ml',
    name: 'p',
    outcome: 'ok',
    milliseconds: 1.25,
    profile: 'full',
    cacheAgeSeconds: 1,
    nodes: 3,
    feasible: 1,
    chosen: null,
    reasons: [],
    best: [],
    victims: {},
    error: '',
    ...more,
  };
}

test('a row shows how many nodes fit, and why the others do not', () => {
  const reasons = [{ reason: 'Insufficient cpu', plugin: 'NodeResourcesFit', count: 2, nodes: ['a', 'b'] }];
  const [row] = decisionTable([decision(7, { reasons })]).rows;
  assert.deepEqual(row.texts.slice(1), ['filter', 'ml/p', 'ok', '1 of 3', '2 × Insufficient cpu', '1.3']);
  assert.equal(row.key, '7@0');
});

test('a row shows that all nodes pass without a rule, and the best node of a prioritize call', () => {
  const best = [{ node: 'b', score: 20, byPlugin: null }];
  const [passed, scored] = decisionTable([
    decision(1, { feasible: null }),
    decision(2, { verb: 'prioritize', best }),
  ]).rows;
  assert.equal(passed.texts[4], 'all 3');
  assert.equal(scored.texts[5], 'best: b (20)');
});

test('bars are relative to the best score', () => {
  const found = {
    ...decision(1, { best: [{ node: 'b', score: 20, byPlugin: { NodePriorityLabel: 20 } }] }),
    rejected: [],
    scores: [
      { node: 'a', score: 5 },
      { node: 'b', score: 20 },
      { node: 'c', score: 0 },
    ],
  };
  assert.deepEqual(scoreBars(found, 2), [
    { node: 'b', score: 20, share: 1, byPlugin: { NodePriorityLabel: 20 } },
    { node: 'a', score: 5, share: 0.25, byPlugin: null },
  ]);
});

test('a bind shows its node, or why it failed', () => {
  const bind = { verb: 'bind', profile: '', cacheAgeSeconds: null, chosen: 'n1', rejected: [], scores: [] };
  assert.deepEqual(factsOf({ ...decision(1, bind), rejected: [], scores: [] }), ['In 1.3 ms', 'Node: n1']);
  const failed = decision(2, { ...bind, chosen: null, error: 'the pod is gone' });
  assert.equal(decisionTable([failed]).rows[0].texts[5], 'the pod is gone');
  assert.deepEqual(factsOf({ ...failed, rejected: [], scores: [] }), ['In 1.3 ms', 'the pod is gone']);
});

test('a reason shows how many of its nodes the record does not name', () => {
  const rejected = { reason: 'r', plugin: 'p', nodes: ['a', 'b'] };
  assert.equal(nodesText({ ...rejected, count: 2 }), 'a, b');
  assert.equal(nodesText({ ...rejected, count: 9 }), 'a, b and 7 more, which the record does not name');
});

test('bars of equal scores are sorted by node name, and the best nodes have scores by plugin', () => {
  const byPlugin = { NodePriorityLabel: 9 };
  const found = {
    ...decision(1, { best: ['n1', 'n2'].map((node) => ({ node, score: 9, byPlugin })) }),
    rejected: [],
    scores: ['n3', 'n2', 'n10', 'n1'].map((node) => ({ node, score: node === 'n10' ? 8 : 9 })),
  };
  assert.deepEqual(
    scoreBars(found, 4).map((bar) => [bar.node, bar.byPlugin]),
    [
      ['n1', byPlugin],
      ['n2', byPlugin],
      ['n3', null],
      ['n10', null],
    ],
  );
});
