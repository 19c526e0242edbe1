// A link shows what was seen.

import assert from 'node:assert/strict';
import test from 'node:test';

import {
  changed,
  DEFAULTS,
  formatState,
  linkTo,
  MOST_CHARACTERS,
  parseState,
  tokenOf,
} from '../../../../cli/berth_cli/console/page/model/url_state.js';

const HOSTILE = 'a&b=c#d?e/f%20 "<img src=x onerror=alert(1)>é';

test('the default state needs no parameters', () => {
  assert.equal(formatState(DEFAULTS), '#/overview');
  assert.deepEqual(parseState('#/overview'), DEFAULTS);
  assert.deepEqual(parseState(''), DEFAULTS);
});

test('every state comes back from its link', () => {
  for (const [name, values] of Object.entries({
    label: ['zone', '', HOSTILE],
    resource: ['memory', HOSTILE],
    group: ['', 'eu-west-1a', HOSTILE],
    node: ['n1', HOSTILE],
    rows: ['nodes'],
    sort: ['use'],
    descending: [true],
    filter: ['web', HOSTILE],
    view: ['pending', 'decisions', 'health', 'policy'],
    category: ['unschedulable'],
    reason: ['Berth NodeReady: node is not ready', HOSTILE],
    pod: ['default/p', HOSTILE],
    gang: ['ml/train', HOSTILE],
    verb: ['filter', HOSTILE],
    decision: ['17@1700000000.25'],
    at: ['12.5,-3.25,40', '0,0,0.01', 'all'],
  })) {
    for (const value of values) {
      const state = { ...DEFAULTS, [name]: value };
      assert.deepEqual(parseState(formatState(state)), state);
    }
  }
});

test('what is not understood is left out', () => {
  for (const fragment of ['#', '#nothing', '#/nothing?rows=x&sort=&order=up', '#/overview?%', '#%E0%A4%A']) {
    assert.deepEqual(parseState(fragment), DEFAULTS);
  }
});

for (const at of ['', 'x', 'ALL', '1,2', '1,2,3,4', '1,2,0', '1,2,-3', 'NaN,1,2', '1e9,1,2', '1,Infinity,2', '1;2;3']) {
  test(`the place “${at}” of the map is none`, () => {
    assert.deepEqual(parseState(`#/overview?at=${encodeURIComponent(at)}`), DEFAULTS);
  });
}

const MOVED = { ...DEFAULTS, label: 'zone', resource: 'memory', at: '1,2,3' };

for (const [name, change, at] of /** @type {[string, Partial<typeof DEFAULTS>, string][]} */ ([
  ['another label', { label: 'pool', group: null, node: '' }, ''],
  ['a group', { group: 'a' }, ''],
  ['all groups', { group: null, node: '' }, ''],
  ['a node', { group: 'a', node: 'n1' }, ''],
  ['another resource', { resource: 'cpu' }, MOVED.at],
  ['a filter', { filter: 'web' }, MOVED.at],
  ['an order', { sort: 'use', descending: true }, MOVED.at],
  ['where the map was moved', { at: '4,5,6' }, '4,5,6'],
])) {
  test(`${name}: the map is at “${at}”`, () => {
    assert.deepEqual(changed(MOVED, change), { ...MOVED, ...change, at });
  });
}

test('a link to another view keeps what the map shows, and nothing of this view', () => {
  const state = { ...MOVED, group: 'a', node: 'n1', filter: 'web', sort: 'use', descending: true };
  assert.deepEqual(parseState(linkTo('pending', state)), { ...MOVED, view: 'pending' });
  assert.equal(linkTo('health', DEFAULTS), '#/health');
  // Without a group that is where the map is anyway.
  assert.equal(linkTo('overview', { ...DEFAULTS, group: 'a', at: 'all' }), '#/overview');
});

test('texts are limited', () => {
  assert.equal(parseState(`#/overview?filter=${'x'.repeat(5000)}`).filter.length, MOST_CHARACTERS);
});

test('the longest name of a pod, and of a label or a resource, comes back', () => {
  const pod = `${'n'.repeat(63)}/${'p'.repeat(253)}`;
  const label = `${'d'.repeat(253)}/${'l'.repeat(63)}`;
  const state = { ...DEFAULTS, pod, label, resource: label };
  assert.deepEqual(parseState(formatState(state)), state);
});

test('only a whole fragment is a token', () => {
  assert.equal(tokenOf('#token=aB-_9'), 'aB-_9');
  for (const fragment of ['', '#token=', '#/overview?token=x', '#token=a&b', '#token=<x>'])
    assert.equal(tokenOf(fragment), null);
});
