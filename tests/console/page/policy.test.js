// What a second policy would place elsewhere.

import assert from 'node:assert/strict';
import test from 'node:test';

import { diffTable, summaryOf } from '../../../cli/berth_cli/console/page/model/policy.js';

const DIFF = {
  headline: '1 newly pending, 1 moved, 0 newly placed',
  judged: 5,
  left: 0,
  messages: ['another node has a higher score', 'NodePriorityLabel: no label (2 nodes)'],
  pods: [
    { namespace: 'ml', name: 'a', effect: 'moved', before: { state: 'node', node: 'n1' }, after: { state: 'node', node: 'n2' } },
    { namespace: 'ml', name: 'b', effect: 'newly-pending', before: { state: 'node', node: 'n1' }, after: { state: 'pending', node: null } },
  ],
};

test('the summary names what was left out', () => {
  assert.equal(summaryOf(DIFF), '5 pending pods placed by both: 1 newly pending, 1 moved, 0 newly placed');
  assert.match(summaryOf({ ...DIFF, left: 7 }), /; 7 more were not placed$/);
});

test('each pod has its place before and after', () => {
  assert.deepEqual(diffTable(DIFF).rows.map(({ texts }) => texts), [
    ['ml/a', 'moved', 'n1', 'n2', 'another node has a higher score'],
    ['ml/b', 'newly-pending', 'n1', 'pending', 'NodePriorityLabel: no label (2 nodes)'],
  ]);
});
