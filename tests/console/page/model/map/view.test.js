// What part of the map is seen, and how it moves.

import assert from 'node:assert/strict';
import test from 'node:test';

import { layOut } from '../../../../../cli/berth_cli/console/page/model/map/layout.js';
import {
  fit,
  keepInSight,
  MOST_SCALE,
  pan,
  viewAt,
  viewText,
  visible,
  zoom,
} from '../../../../../cli/berth_cli/console/page/model/map/view.js';

test('fitting shows all of a part in the middle', () => {
  const view = fit({ x: 10, y: 20, width: 4, height: 2 }, 400, 400);
  assert.equal(view.scale, 100);
  assert.deepEqual([(10 - view.x) * view.scale, (20 - view.y) * view.scale], [0, 100]);
});

test('zooming keeps what is under the pointer', () => {
  const before = { x: 3, y: 4, scale: 10 };
  const after = zoom(before, 2, 50, 70, 1);
  assert.deepEqual([after.x + 50 / after.scale, after.y + 70 / after.scale], [8, 11]);
});

test('zooming has limits', () => {
  assert.equal(zoom({ x: 0, y: 0, scale: 10 }, 1000, 0, 0, 1).scale, MOST_SCALE);
  assert.equal(zoom({ x: 0, y: 0, scale: 10 }, 0.0001, 0, 0, 2).scale, 2);
});

test('the map cannot be moved out of sight', () => {
  const layout = layOut([100], 1);
  for (const [left, top] of [
    [1e6, 1e6],
    [-1e6, -1e6],
  ]) {
    const view = keepInSight(pan({ x: 0, y: 0, scale: 10 }, left, top), layout, 300, 200);
    assert.ok(visible(layout, view, 300, 200).length === 1);
    assert.deepEqual(view, keepInSight(view, layout, 300, 200));
  }
});

test('only the rows of nodes in sight are visible', () => {
  const layout = layOut([10_000], 1);
  const [{ block, first, last }] = visible(layout, { x: 0, y: 50, scale: 100 }, 500, 500);
  assert.ok(last - first <= 6 && first > 40 && last < block.rows);
});

test('a view is named by what is in its middle, rounded, and comes back from its name', () => {
  const view = { x: 1 / 3, y: -2 / 3, scale: 12.3456 };
  const text = viewText(view, 400, 200);
  assert.equal(text, '16.53,7.43,12.35');
  assert.equal(viewText(viewAt(text, 400, 200, 1), 400, 200), text);
  // On a screen of another size the middle is the same.
  assert.equal(viewText(viewAt(text, 390, 300, 1), 390, 300), text);
});

test('a view by its name has the limits of zooming', () => {
  assert.equal(viewAt('0,0,999', 400, 200, 1).scale, MOST_SCALE);
  assert.equal(viewAt('0,0,0.01', 400, 200, 2).scale, 2);
  assert.equal(viewText(viewAt('3,4,999', 400, 200, 1), 400, 200), `3,4,${MOST_SCALE}`);
});
