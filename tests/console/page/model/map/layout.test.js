// Where things stand on the map, and what is under a pixel.

import assert from 'node:assert/strict';
import test from 'node:test';

import {
  cellAt,
  fit,
  hit,
  keepInSight,
  layOut,
  MOST_SCALE,
  pan,
  podAt,
  podSide,
  TITLE,
  visible,
  zoom,
} from '../../../../../cli/berth_cli/console/page/model/map/layout.js';

test('groups do not overlap and stay within the whole', () => {
  for (const counts of [[1], [5000], [3, 3, 3], [1, 200, 7, 7, 900, 2], Array(200).fill(25)]) {
    const layout = layOut(counts, 1.6);
    const taken = new Set();
    for (const block of layout.blocks) {
      assert.ok(block.x + block.columns <= layout.width && block.y + TITLE + block.rows <= layout.height);
      for (let x = block.x; x < block.x + block.columns; x += 1) {
        for (let y = block.y; y < block.y + TITLE + block.rows; y += 1) {
          assert.ok(!taken.has(`${x},${y}`));
          taken.add(`${x},${y}`);
        }
      }
    }
  }
});

test('the whole has about the wanted ratio', () => {
  for (const ratio of [0.5, 1, 2]) {
    const { width, height } = layOut(Array(60).fill(80), ratio);
    assert.ok(Math.abs(width / height / ratio - 1) < 0.35, `${width} x ${height}`);
  }
});

test('no groups have a place too', () => {
  assert.deepEqual(layOut([], 1), { width: 1, height: 1, blocks: [] });
});

test('each node is found where it stands', () => {
  const layout = layOut([7, 30], 1);
  for (const block of layout.blocks) {
    for (let cell = 0; cell < block.count; cell += 1) {
      const { x, y } = cellAt(block, cell);
      const found = hit(layout, x + 0.25, y + 0.75);
      assert.deepEqual(found, { block: block.index, cell, fractionX: 0.25, fractionY: 0.75 });
    }
  }
});

test('the title is the group, and beside nodes there is nothing', () => {
  const layout = layOut([3], 1);
  assert.equal(hit(layout, 0.5, 0.5)?.cell, null);
  assert.equal(hit(layout, layout.blocks[0].columns + 0.5, 3), null);
  assert.equal(hit(layout, -1, -1), null);
  const [block] = layout.blocks;
  assert.equal(
    hit(layout, block.columns - 0.5, TITLE + block.rows - 0.5)?.cell ?? null,
    block.columns * block.rows > 3 ? null : 2,
  );
});

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
    const view = pan({ x: 0, y: 0, scale: 10 }, left, top, layout, 300, 200);
    assert.ok(visible(layout, view, 300, 200).length === 1);
    assert.deepEqual(view, keepInSight(view, layout, 300, 200));
  }
});

test('only the rows of nodes in sight are visible', () => {
  const layout = layOut([10_000], 1);
  const [{ block, first, last }] = visible(layout, { x: 0, y: 50, scale: 100 }, 500, 500);
  assert.ok(last - first <= 6 && first > 40 && last < block.rows);
});

test('each pod of a node is found where it stands', () => {
  for (const count of [1, 2, 5, 30, 110]) {
    const side = podSide(count);
    for (let pod = 0; pod < count; pod += 1) {
      assert.equal(podAt(count, ((pod % side) + 0.5) / side, (Math.floor(pod / side) + 0.5) / side), pod);
    }
  }
  assert.equal(podAt(2, 0.9, 0.9), null);
});
