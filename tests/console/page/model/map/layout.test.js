// Where things stand on the map, and what is under a pixel.

import assert from 'node:assert/strict';
import test from 'node:test';

import {
  cellAt,
  hit,
  layOut,
  podAt,
  podSide,
  TITLE,
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

/** Pixels of a cell on a map of this ratio that is one pixel high. @param {number[]} counts @param {number} ratio */
function scaleOf(counts, ratio) {
  const { width, height } = layOut(counts, ratio);
  return Math.min(ratio / (width + 1), 1 / (height + 1));
}

test('a few equal groups stand beside each other where the map is wide', () => {
  const { blocks } = layOut([80, 80, 80], 2.6);
  assert.deepEqual(
    blocks.map(({ y }) => y),
    [0, 0, 0],
  );
});

test('one group takes the form of the map', () => {
  const { width, height } = layOut([5000], 2.6);
  assert.ok(width / height > 1.8, `${width} x ${height}`);
});

test('a higher map has groups below each other', () => {
  const { blocks } = layOut([80, 80, 80], 0.5);
  assert.deepEqual(
    blocks.map(({ x }) => x),
    [0, 0, 0],
  );
});

test('more room never makes cells smaller', () => {
  for (const counts of [[5000], [80, 80, 80], [1, 200, 7, 7, 900, 2], Array(60).fill(80)]) {
    let before = 0;
    for (const ratio of [0.5, 0.8, 1.3, 2, 3.1, 5]) {
      const scale = scaleOf(counts, ratio);
      assert.ok(scale >= before / 1.1, `${counts.length} groups at ${ratio}`);
      before = scale;
    }
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

test('each pod of a node is found where it stands', () => {
  for (const count of [1, 2, 5, 30, 110]) {
    const side = podSide(count);
    for (let pod = 0; pod < count; pod += 1) {
      assert.equal(podAt(count, ((pod % side) + 0.5) / side, (Math.floor(pod / side) + 0.5) / side), pod);
    }
  }
  assert.equal(podAt(2, 0.9, 0.9), null);
  for (const [x, y] of [
    [-0.01, 0.5],
    [0.5, -0.01],
    [1, 0.5],
    [0.5, 1],
  ]) {
    assert.equal(podAt(4, x, y), null);
  }
});
