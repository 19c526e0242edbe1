// Pending pods by reason.

import assert from 'node:assert/strict';
import test from 'node:test';

import {
  captionOf,
  changeTexts,
  countOf,
  evictionTexts,
  gangsCaption,
  gangTexts,
  inOrder,
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
    { by: 'kube-scheduler', plugin: 'NodeResourcesFit', reason: 'Insufficient cpu', nodes: [0, 1] },
    { by: 'Berth', plugin: 'NodeReady', reason: 'node is not ready', nodes: [2] },
  ],
  pods: [
    pod('default/large', { category: 'unschedulable', reasons: [0, 1] }),
    pod('default/small', { category: 'schedulable-now', reasons: [1], fitting: 2, priority: 5 }),
    pod('ml/gated', { gang: 'train', note: 'its scheduling gates hold it' }),
    pod('ml/other', { category: 'unschedulable', reasons: [1] }),
  ],
};

/** @param {string} name @param {object} fields */
function pod(name, fields) {
  const [namespace, own] = name.split('/');
  const defaults = { gang: '', priority: 0, category: 'undetermined', fitting: 0, note: '', reasons: [] };
  return { namespace, name: own, ...defaults, ...fields };
}

test('pods are counted by category', () => {
  const categories = ['unschedulable', 'schedulable-now', 'undetermined'];
  assert.deepEqual(
    categories.map((category) => countOf(DOCUMENT, category)),
    [2, 1, 1],
  );
});

test('only reasons of the chosen category are listed, the main reason of most pods first', () => {
  const wide = pod('default/wide', { category: 'unschedulable', reasons: [0, 1] });
  const found = (/** @type {string} */ category, pods = DOCUMENT.pods) =>
    reasonsOf({ ...DOCUMENT, pods }, category).map(({ reason, pods: count }) => [reason.reason, count]);
  assert.deepEqual(found('', [...DOCUMENT.pods, wide]), [
    ['Insufficient cpu', 2],
    ['node is not ready', 4],
  ]);
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

test('pods are filtered by reason and category', () => {
  const keys = (/** @type {string} */ category, /** @type {string} */ reason) =>
    pendingTable(DOCUMENT, category, reason).rows.map(({ key }) => key);
  assert.deepEqual(keys('', reasonKey(DOCUMENT.reasons[0])), ['default/large']);
  assert.deepEqual(keys('schedulable-now', reasonKey(DOCUMENT.reasons[1])), ['default/small']);
  assert.deepEqual(keys('', 'a reason that is gone'), []);
});

test('a reason has the nodes that it rejects, or null if it no longer exists', () => {
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
  test(`the caption summarizes ${count} pending pods`, () => assert.equal(captionOf({ ...DOCUMENT, count }), wanted));
}

/** @param {string} gang @param {string} waitsFor @param {number} [priority] */
function made(gang, waitsFor, priority = 0) {
  return { gang, state: 'open', waitsFor, minimum: 2, members: { exist: 1, inBind: 0, onNodes: null }, priority };
}

test('gangs that wait come first, the most urgent one at the top', () => {
  const gangs = [made('ml/c', ''), made('ml/b-10', 'room'), made('ml/b-9', 'room'), made('ml/a', 'room', 5)];
  const ordered = inOrder({ gangs, open: null, compared: true });
  assert.deepEqual(
    ordered.map(({ gang }) => gang),
    ['ml/a', 'ml/b-9', 'ml/b-10', 'ml/c'],
  );
});

test('the caption counts gangs, or reports that they are not enabled', () => {
  const gangs = [made('ml/a', 'room'), made('ml/b', '')];
  assert.equal(gangsCaption({ gangs, open: 'ml/b', compared: true }), '2 gangs, 1 waiting; ml/b is being placed');
  assert.equal(gangsCaption({ gangs: [], open: null, compared: true }), 'No gangs');
  const off = 'Gangs: the configuration in force does not enable them';
  assert.equal(gangsCaption({ gangs: [], open: null, compared: false }), off);
});

test('an unknown number of a gang is shown as a question mark', () => {
  assert.deepEqual(gangTexts(made('ml/a', 'room')), ['open', 'room', '1 of 2', '0', '?', '0']);
});

test('a change to a pod lists the nodes that it then fits on, a change to a node does not', () => {
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
  ['no text if preemption was not tried', null, []],
  ['the reason if the pod may not preempt', { reason: 'its policy is Never' }, ['Preemption: its policy is Never']],
  [
    'one victim is shown with its priority',
    { node: 'n1', victims: [VICTIM], otherNodes: {} },
    ['Preemption would place it on n1. It evicts ml/old (priority 5).'],
  ],
  [
    'a violated budget and the number of other nodes are shown',
    { node: 'n1', victims: [{ ...VICTIM, violates: ['ml/two'] }], otherNodes: { n2: { reason: 'more' } } },
    [
      'Preemption would place it on n1. It evicts ml/old (priority 5, violates ml/two).',
      '1 other node would take more evictions, or cannot be used.',
    ],
  ],
])) {
  test(`evictions: ${title}`, () => assert.deepEqual(evictionTexts(found), wanted));
}
