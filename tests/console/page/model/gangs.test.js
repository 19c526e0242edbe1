// Gangs: their order, and what is said of each.

import assert from 'node:assert/strict';
import test from 'node:test';

import { captionOf, gangTexts, inOrder, NOT_ENABLED } from '../../../../cli/berth_cli/console/page/model/gangs.js';

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

test('the caption counts, and says where gangs are off', () => {
  const gangs = [made('ml/a', 'room'), made('ml/b', '')];
  assert.equal(captionOf({ gangs, open: 'ml/b', compared: true }), '2 gangs, 1 waiting; ml/b is being placed');
  assert.equal(captionOf({ gangs: [], open: null, compared: true }), 'No gangs');
  assert.equal(captionOf({ gangs: [], open: null, compared: false }), NOT_ENABLED);
});

test('what is not known is a question mark', () => {
  assert.deepEqual(gangTexts(made('ml/a', 'room')), ['open', 'room', '1 of 2', '0', '?', '0']);
});
