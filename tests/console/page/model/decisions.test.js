// Decisions: what the page keeps, and the rows of its table.

import assert from 'node:assert/strict';
import test from 'node:test';

import {
  choices,
  decisionKey,
  decisionTable,
  factsOf,
  joined,
  matching,
  MOST_DECISIONS,
  nodeNamed,
  nodesText,
  scoreBars,
} from '../../../../cli/berth_cli/console/page/model/decisions.js';
import { arranged } from '../../../../cli/berth_cli/console/page/model/rows.js';

/** @param {number} number @param {Partial<import('../../../../cli/berth_cli/console/page/model/decisions.js').Decision>} [more] */
function decision(number, more = {}) {
  return {
    number,
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

test('decisions that came twice are kept once, and the oldest go', () => {
  assert.deepEqual(
    joined([decision(1), decision(2)], [decision(2), decision(3)]).map(({ number }) => number),
    [1, 2, 3],
  );
  const many = joined(
    [],
    Array.from({ length: MOST_DECISIONS + 5 }, (_, at) => decision(at + 1)),
  );
  assert.deepEqual([many.length, many[0].number], [MOST_DECISIONS, 6]);
});

test('a row says how many nodes fit, and why the others do not', () => {
  const reasons = [{ reason: 'Insufficient cpu', plugin: 'NodeResourcesFit', count: 2, nodes: ['a', 'b'] }];
  const [row] = decisionTable([decision(7, { reasons })]).rows;
  assert.deepEqual(row.texts.slice(1), ['filter', 'ml/p', 'ok', '1 of 3', '2 × Insufficient cpu', '1.3']);
  assert.equal(row.key, '7@0');
});

test('without a rule all nodes pass, and a score names the best', () => {
  const best = [{ node: 'b', score: 20, byPlugin: null }];
  const [passed, scored] = decisionTable([
    decision(1, { feasible: null }),
    decision(2, { verb: 'prioritize', best }),
  ]).rows;
  assert.equal(passed.texts[4], 'all 3');
  assert.equal(scored.texts[5], 'best: b (20)');
});

test('bars are beside the best score', () => {
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

test('a bind says its node, or why it failed', () => {
  const bind = { verb: 'bind', profile: '', cacheAgeSeconds: null, chosen: 'n1', rejected: [], scores: [] };
  assert.deepEqual(factsOf({ ...decision(1, bind), rejected: [], scores: [] }), ['In 1.3 ms', 'Node: n1']);
  const failed = decision(2, { ...bind, chosen: null, error: 'the pod is gone' });
  assert.equal(decisionTable([failed]).rows[0].texts[5], 'the pod is gone');
  assert.deepEqual(factsOf({ ...failed, rejected: [], scores: [] }), ['In 1.3 ms', 'the pod is gone']);
});

test('a record that names some nodes of a reason says how many more there are', () => {
  const rejected = { reason: 'r', plugin: 'p', nodes: ['a', 'b'] };
  assert.equal(nodesText({ ...rejected, count: 2 }), 'a, b');
  assert.equal(nodesText({ ...rejected, count: 9 }), 'a, b and 7 more, which the record does not name');
});

test('bars of equal scores are in the order of their names, as the best ones are: these have their parts', () => {
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

const CPU = { reason: 'Insufficient cpu', plugin: 'NodeResourcesFit', count: 2, nodes: ['n6', 'n7'] };
const TAINT = { reason: 'untolerated taint', plugin: 'TaintToleration', count: 1, nodes: ['n8'] };
const MANY = [
  decision(1, { reasons: [CPU] }),
  decision(2, { reasons: [CPU, TAINT] }),
  decision(3, { verb: 'prioritize', best: [{ node: 'n5', score: 7, byPlugin: null }] }),
  decision(4, { verb: 'bind', chosen: 'n4', profile: '' }),
  decision(5, { verb: 'preempt', victims: { n3: 2 } }),
];

for (const [filter, wanted] of /** @type {[string, number[]][]} */ ([
  ['n7', [1, 2]],
  ['n8', [2]],
  ['n5', [3]],
  ['n4', [4]],
  ['n3', [5]],
  ['tainttoleration', [2]],
  ['full', [1, 2, 3, 5]],
  ['ml/p', [1, 2, 3, 4, 5]],
  ['n9', []],
])) {
  test(`the filter ${filter} finds the decisions that name it`, () => {
    const rows = arranged(decisionTable(MANY), 'number', false, filter);
    assert.deepEqual(
      rows.map(({ values }) => values[0]),
      wanted,
    );
  });
}

test('the filter finds decisions that judged the node, whether or not they name it', () => {
  const judged = { node: 'n7', numbers: new Set([3, 5, 99]) };
  const found = (/** @type {string} */ filter) =>
    arranged(decisionTable(MANY, judged), 'number', false, filter).map(({ values }) => values[0]);
  assert.deepEqual(found('n7'), [1, 2, 3, 5]);
  assert.deepEqual(found(' N7 '), [1, 2, 3, 5]);
  // What was judged before another name was typed.
  assert.deepEqual(found('n8'), [2]);
});

for (const [filter, wanted] of [
  ['ip-10-0-3-17.eu-west-1.compute.internal', 'ip-10-0-3-17.eu-west-1.compute.internal'],
  [' N7 ', 'n7'],
  ['x'.repeat(253), 'x'.repeat(253)],
  ['x'.repeat(254), ''],
  ['', ''],
  ['ml/p', ''],
  ['-n', ''],
  ['n 7', ''],
  ['<img src=x onerror=alert(1)>', ''],
  ['n7\u0000', ''],
  ['é', ''],
]) {
  test(`the filter “${filter.slice(0, 40)}” names the node “${wanted.slice(0, 40)}”`, () => {
    assert.equal(nodeNamed(filter), wanted);
  });
}

for (const [verb, reason, wanted] of /** @type {[string, string, number[]][]} */ ([
  ['', '', [1, 2, 3, 4, 5]],
  ['filter', '', [1, 2]],
  ['', TAINT.reason, [2]],
  ['filter', CPU.reason, [1, 2]],
  ['bind', CPU.reason, []],
])) {
  test(`verb “${verb}” and reason “${reason}” choose decisions`, () => {
    assert.deepEqual(
      matching(MANY, verb, reason).map(({ number }) => number),
      wanted,
    );
  });
}

test('verbs and reasons can be chosen that there are, and what is chosen stays', () => {
  const { verbs, reasons } = choices(MANY, 'filter_onlyone', TAINT.reason);
  assert.deepEqual(verbs, [
    ['filter', 2],
    ['bind', 1],
    ['preempt', 1],
    ['prioritize', 1],
    ['filter_onlyone', 0],
  ]);
  assert.deepEqual(reasons, [
    [CPU.reason, 2],
    [TAINT.reason, 1],
  ]);
});

test('a number names another decision after a restart', () => {
  assert.notEqual(decisionKey(decision(1, { time: 1.5 })), decisionKey(decision(1, { time: 2.5 })));
});
