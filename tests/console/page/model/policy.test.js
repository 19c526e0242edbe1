// What a second policy would place elsewhere.

import assert from 'node:assert/strict';
import test from 'node:test';

import {
  diffTable,
  shadowRows,
  shadowSummary,
  summaryOf,
} from '../../../../cli/berth_cli/console/page/model/policy.js';

const DIFF = {
  headline: '1 newly pending, 1 moved, 0 newly placed',
  judged: 5,
  notes: /** @type {string[]} */ ([]),
  messages: ['another node has a higher score', 'NodePriorityLabel: no label (2 nodes)'],
  pods: [
    {
      namespace: 'ml',
      name: 'a',
      effect: 'moved',
      before: { state: 'node', node: 'n1' },
      after: { state: 'node', node: 'n2' },
    },
    {
      namespace: 'ml',
      name: 'b',
      effect: 'newly-pending',
      before: { state: 'node', node: 'n1' },
      after: { state: 'pending', node: null },
    },
  ],
};

test('the summary names what was left out', () => {
  assert.equal(summaryOf(DIFF, 'pods placed'), '5 pods placed: 1 newly pending, 1 moved, 0 newly placed');
  assert.match(summaryOf({ ...DIFF, notes: ['7 more were not placed'] }, 'pods'), /; 7 more were not placed$/);
});

test('each pod has its place before and after', () => {
  assert.deepEqual(
    diffTable(DIFF).rows.map(({ texts }) => texts),
    [
      ['ml/a', 'moved', 'n1', 'n2', 'another node has a higher score'],
      ['ml/b', 'newly-pending', 'n1', 'pending', 'NodePriorityLabel: no label (2 nodes)'],
    ],
  );
});

test('disagreements of live decisions are counted, and the newest comes first', () => {
  const rules = [{ plugin: 'NodePriorityLabel', reason: 'no label', nodes: 3 }];
  const old = { time: 0, namespace: 'ml', name: 'a', result: 'newly-pending', before: 'n1', after: null, rules };
  const found = {
    decisions: { same: 4, 'newly-pending': 2 },
    disagreements: [old, { ...old, time: 60, name: 'b', rules: [] }],
  };
  assert.equal(shadowSummary(found), 'Live decisions judged by both: 4 same, 2 newly-pending');
  assert.deepEqual(
    shadowRows(found).map((texts) => texts.slice(1)),
    [
      ['ml/b', 'newly-pending', 'n1', 'none', ''],
      ['ml/a', 'newly-pending', 'n1', 'none', '3 × NodePriorityLabel: no label'],
    ],
  );
  assert.equal(shadowSummary({ decisions: {}, disagreements: [] }), 'No live decision was judged by both yet');
});
