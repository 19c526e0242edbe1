// Pending pods by reason.

import assert from 'node:assert/strict';
import test from 'node:test';

import {
  byCategory,
  captionOf,
  nodesOf,
  pendingTable,
  reasonKey,
  reasonsOf,
} from '../../../../cli/berth_cli/console/page/model/pending.js';
import { DEFAULTS, formatState, parseState } from '../../../../cli/berth_cli/console/page/model/url_state.js';

const DOCUMENT = {
  count: 4,
  nodes: ['n1', 'n2', 'n3'],
  reasons: [
    { by: 'kube-scheduler', plugin: 'NodeResourcesFit', reason: 'Insufficient cpu', code: 'x', pods: 1, nodes: [0, 1] },
    { by: 'Berth', plugin: 'NodeReady', reason: 'node is not ready', code: 'y', pods: 3, nodes: [2] },
  ],
  pods: {
    namespace: ['default', 'default', 'ml', 'ml'],
    name: ['large', 'small', 'gated', 'other'],
    gang: ['', '', 'train', ''],
    priority: [0, 5, 0, 0],
    category: ['unschedulable', 'schedulable-now', 'undetermined', 'unschedulable'],
    fitting: [0, 2, 0, 0],
    note: ['', '', 'its scheduling gates hold it', ''],
    reasons: [[0, 1], [1], [], [1]],
  },
};

test('pods are counted by what becomes of them', () => {
  assert.deepEqual(
    [...byCategory(DOCUMENT)],
    [
      ['unschedulable', 2],
      ['schedulable-now', 1],
      ['undetermined', 1],
    ],
  );
});

test('the reason of most pods comes first, of the chosen category only', () => {
  const found = (/** @type {string} */ category) =>
    reasonsOf(DOCUMENT, category).map(({ reason, pods }) => [reason.reason, pods]);
  assert.deepEqual(found(''), [
    ['node is not ready', 3],
    ['Insufficient cpu', 1],
  ]);
  assert.deepEqual(found('schedulable-now'), [['node is not ready', 1]]);
  assert.deepEqual(found('undetermined'), []);
});

test('each pod has its state, its first reason, and how many nodes fit', () => {
  assert.deepEqual(
    pendingTable(DOCUMENT, '', '').rows.map(({ texts }) => texts),
    [
      ['default/large', 'Unschedulable', 'Insufficient cpu', '0 of 3', '0', ''],
      ['default/small', 'Schedulable now', '', '2 of 3', '5', ''],
      ['ml/gated', 'Undetermined', 'its scheduling gates hold it', '', '0', 'train'],
      ['ml/other', 'Unschedulable', 'node is not ready', '0 of 3', '0', ''],
    ],
  );
});

test('a reason and a category choose pods', () => {
  const keys = (/** @type {string} */ category, /** @type {string} */ reason) =>
    pendingTable(DOCUMENT, category, reason).rows.map(({ key }) => key);
  assert.deepEqual(keys('', reasonKey(DOCUMENT.reasons[0])), ['default/large']);
  assert.deepEqual(keys('schedulable-now', reasonKey(DOCUMENT.reasons[1])), ['default/small']);
  assert.deepEqual(keys('', 'a reason that is gone'), []);
});

test('a reason names its nodes, as long as there are any', () => {
  assert.deepEqual(nodesOf(DOCUMENT, reasonKey(DOCUMENT.reasons[0])), ['n1', 'n2']);
  assert.equal(nodesOf(DOCUMENT, 'a reason that is gone'), null);
  assert.equal(nodesOf(DOCUMENT, ''), null);
});

test('a reason of any length is found by its link', () => {
  const [first, second] = DOCUMENT.reasons;
  const long = { ...DOCUMENT, reasons: [first, { ...second, reason: 'x'.repeat(5000) }] };
  const { reason } = parseState(formatState({ ...DEFAULTS, reason: reasonKey(long.reasons[1]) }));
  assert.deepEqual(nodesOf(long, reason), ['n3']);
  assert.equal(pendingTable(long, '', reason).rows.length, 3);
});

for (const [count, wanted] of /** @type {[number, string][]} */ ([
  [0, 'No pod is pending'],
  [4, '4 pending pods: 2 unschedulable, 1 schedulable now, 1 undetermined'],
  [9, '9 pending pods: 2 unschedulable, 1 schedulable now, 1 undetermined, 5 more not listed'],
])) {
  test(`${count} pending pods are said in one line`, () => assert.equal(captionOf({ ...DOCUMENT, count }), wanted));
}
