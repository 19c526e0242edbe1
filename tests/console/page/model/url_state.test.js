// A link restores the state of the page.

import assert from 'node:assert/strict';
import test from 'node:test';

import {
  DEFAULTS,
  formatState,
  linkTo,
  MAX_CHARACTERS,
  parseState,
  tokenOf,
} from '../../../../cli/berth_cli/console/page/model/url_state.js';

const HOSTILE = 'a&b=c#d?e/f%20 "<img src=x onerror=alert(1)>é';

test('the default state needs no parameters', () => {
  assert.equal(formatState(DEFAULTS), '#/overview');
  assert.deepEqual(parseState('#/overview'), DEFAULTS);
  assert.deepEqual(parseState(''), DEFAULTS);
});

test('every state is restored from its link', () => {
  for (const [name, values] of Object.entries({
    label: ['zone', '', HOSTILE],
    resource: ['memory', HOSTILE],
    group: ['', 'eu-west-1a', HOSTILE],
    node: ['n1', HOSTILE],
    rows: ['nodes'],
    sort: ['use'],
    order: ['descending'],
    filter: ['web', HOSTILE],
    view: ['pending', 'decisions'],
    category: ['unschedulable'],
    reason: ['Berth NodeReady: node is not ready', HOSTILE],
    pod: ['default/p', HOSTILE],
    gang: ['ml/train', HOSTILE],
    verb: ['filter', HOSTILE],
    decision: ['17@1700000000.25'],
  })) {
    for (const value of values) {
      const state = { ...DEFAULTS, [name]: value };
      assert.deepEqual(parseState(formatState(state)), state);
    }
  }
});

test('parts of a link that cannot be parsed are ignored', () => {
  for (const fragment of ['#', '#nothing', '#/nothing?rows=x&sort=&order=up', '#/overview?%', '#%E0%A4%A']) {
    assert.deepEqual(parseState(fragment), DEFAULTS);
  }
});

test('a link to another view keeps only the label and the resource', () => {
  const shown = { ...DEFAULTS, label: 'zone', resource: 'memory' };
  const state = { ...shown, group: 'a', node: 'n1', filter: 'web', sort: 'use', order: 'descending' };
  assert.deepEqual(parseState(linkTo('pending', state)), { ...shown, view: 'pending' });
  assert.equal(linkTo('decisions', DEFAULTS), '#/decisions');
});

test('a text in a link is cut to the maximum length', () => {
  assert.equal(parseState(`#/overview?filter=${'x'.repeat(5000)}`).filter.length, MAX_CHARACTERS);
});

test('the longest names of pods, labels and resources are restored from a link', () => {
  const pod = `${'n'.repeat(63)}/${'p'.repeat(253)}`;
  const label = `${'d'.repeat(253)}/${'l'.repeat(63)}`;
  const state = { ...DEFAULTS, pod, label, resource: label };
  assert.deepEqual(parseState(formatState(state)), state);
});

test('a token is read only if the whole fragment is valid', () => {
  assert.equal(tokenOf('#token=aB-_9'), 'aB-_9');
  for (const fragment of ['', '#token=', '#/overview?token=x', '#token=a&b', '#token=<x>'])
    assert.equal(tokenOf(fragment), null);
});
