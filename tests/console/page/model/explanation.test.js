// What is said of one pending pod.

import assert from 'node:assert/strict';
import test from 'node:test';

import { changeTexts, evictionTexts } from '../../../../cli/berth_cli/console/page/model/explanation.js';

test('a change of the pod names the nodes that it then fits on, a change of a node that node', () => {
  const found = changeTexts([
    { changes: [{ text: 'request less cpu', node: null }], fits: ['n1', 'n2', 'n3', 'n4', 'n5'] },
    { changes: [{ text: 'add a label to n7', node: 'n7' }], fits: ['n7'] },
    {
      changes: [
        { text: 'one', node: null },
        { text: 'two', node: null },
      ],
      fits: [],
    },
  ]);
  assert.deepEqual(found, ['request less cpu → n1, n2, n3 and 2 more', 'add a label to n7', 'one; and two']);
});

const VICTIM = { namespace: 'ml', name: 'old', priority: 5, violates: [] };

for (const [title, found, wanted] of /** @type {[string, Parameters<typeof evictionTexts>[0], string[]][]} */ ([
  ['nothing is said of it', null, []],
  ['a pod that may not preempt', { reason: 'its policy is Never' }, ['Preemption: its policy is Never']],
  [
    'one victim',
    { node: 'n1', victims: [VICTIM], otherNodes: {} },
    ['Preemption would place it on n1. It evicts ml/old (priority 5).'],
  ],
  [
    'a budget that is violated, and other nodes',
    { node: 'n1', victims: [{ ...VICTIM, violates: ['ml/two'] }], otherNodes: { n2: { reason: 'more' } } },
    [
      'Preemption would place it on n1. It evicts ml/old (priority 5, violates ml/two).',
      '1 other node would take more evictions, or cannot be used.',
    ],
  ],
])) {
  test(`evictions: ${title}`, () => assert.deepEqual(evictionTexts(found), wanted));
}
