// Where groups, nodes and pods stand on the map, and what part of it is seen. Lengths are in cells: a node takes one.

/**
 * @typedef {object} Block a group's place
 * @property {number} index of the group
 * @property {number} count of nodes
 * @property {number} x
 * @property {number} y
 * @property {number} columns
 * @property {number} rows
 *
 * @typedef {object} Layout
 * @property {number} width
 * @property {number} height
 * @property {Block[]} blocks in the order of the groups
 *
 * @typedef {object} View pixels = (cells - x or y) * scale
 * @property {number} x
 * @property {number} y
 * @property {number} scale pixels of a cell
 *
 * @typedef {object} Hit
 * @property {number} block
 * @property {number | null} cell of the node in its group; null: the group's title
 * @property {number} fractionX within the cell
 * @property {number} fractionY
 */

/** Cells above a group's nodes, for its title. */
export const TITLE = 2;
const GAP = 1;
export const MOST_SCALE = 320;

/** Groups in rows, in their order, so that the whole has about this ratio of width to height.
 * @param {readonly number[]} counts @param {number} ratio @returns {Layout} */
export function layOut(counts, ratio) {
  const sizes = counts.map((count) => {
    const columns = Math.max(1, Math.min(count, Math.ceil(Math.sqrt(count * 1.3))));
    return { columns, rows: Math.max(1, Math.ceil(count / columns)) };
  });
  const area = sizes.reduce((sum, { columns, rows }) => sum + (columns + GAP) * (rows + TITLE + GAP), 0);
  const widest = sizes.reduce((most, { columns }) => Math.max(most, columns), 0);
  const limit = Math.max(widest, Math.sqrt(area * Math.max(0.1, ratio)));
  /** @type {Block[]} */
  const blocks = [];
  let x = 0;
  let y = 0;
  let rowHeight = 0;
  let width = 0;
  sizes.forEach(({ columns, rows }, index) => {
    if (x > 0 && x + columns > limit) {
      x = 0;
      y += rowHeight;
      rowHeight = 0;
    }
    blocks.push({ index, count: counts[index], x, y, columns, rows });
    width = Math.max(width, x + columns);
    rowHeight = Math.max(rowHeight, rows + TITLE + GAP);
    x += columns + GAP;
  });
  return { width: Math.max(1, width), height: Math.max(1, y + rowHeight - (blocks.length ? GAP : 0)), blocks };
}

/** The upper left corner of a node. @param {Block} block @param {number} cell */
export function cellAt(block, cell) {
  return { x: block.x + (cell % block.columns), y: block.y + TITLE + Math.floor(cell / block.columns) };
}

/** What is at this place. @param {Layout} layout @param {number} x @param {number} y @returns {Hit | null} */
export function hit(layout, x, y) {
  for (const block of layout.blocks) {
    const left = x - block.x;
    const top = y - block.y;
    if (left < 0 || top < 0 || left >= block.columns || top >= block.rows + TITLE) continue;
    if (top < TITLE) return { block: block.index, cell: null, fractionX: 0, fractionY: 0 };
    const row = Math.floor(top - TITLE);
    const cell = row * block.columns + Math.floor(left);
    if (cell >= block.count) return null;
    return { block: block.index, cell, fractionX: left % 1, fractionY: (top - TITLE) % 1 };
  }
  return null;
}

/** The blocks that are seen, and of each the first and last row of nodes.
 * @param {Layout} layout @param {View} view @param {number} width @param {number} height pixels
 * @returns {{block: Block, first: number, last: number}[]} */
export function visible(layout, view, width, height) {
  const right = view.x + width / view.scale;
  const bottom = view.y + height / view.scale;
  /** @type {{block: Block, first: number, last: number}[]} */
  const found = [];
  for (const block of layout.blocks) {
    const top = block.y + TITLE;
    if (block.x > right || block.x + block.columns < view.x || block.y > bottom || top + block.rows < view.y) continue;
    const first = Math.max(0, Math.floor(view.y - top));
    const last = Math.min(block.rows - 1, Math.floor(bottom - top));
    found.push({ block, first, last });
  }
  return found;
}

/** The view that shows all of a rectangle, in the middle.
 * @param {{x: number, y: number, width: number, height: number}} part @param {number} width @param {number} height
 * @returns {View} */
export function fit(part, width, height) {
  const scale = Math.min(MOST_SCALE, Math.min(width / part.width, height / part.height));
  return {
    scale,
    x: part.x - (width / scale - part.width) / 2,
    y: part.y - (height / scale - part.height) / 2,
  };
}

/** Zoom so that what is at this pixel stays there.
 * @param {View} view @param {number} factor @param {number} left @param {number} top @param {number} least scale
 * @returns {View} */
export function zoom(view, factor, left, top, least) {
  const scale = Math.min(MOST_SCALE, Math.max(least, view.scale * factor));
  return { scale, x: view.x + left / view.scale - left / scale, y: view.y + top / view.scale - top / scale };
}

/** Move by pixels. A part of the map stays in sight.
 * @param {View} view @param {number} left @param {number} top @param {Layout} layout @param {number} width
 * @param {number} height @returns {View} */
export function pan(view, left, top, layout, width, height) {
  return keepInSight({ ...view, x: view.x - left / view.scale, y: view.y - top / view.scale }, layout, width, height);
}

/** @param {View} view @param {Layout} layout @param {number} width @param {number} height @returns {View} */
export function keepInSight(view, layout, width, height) {
  const across = width / view.scale;
  const down = height / view.scale;
  return {
    scale: view.scale,
    x: Math.min(layout.width - across * 0.1, Math.max(-across * 0.9, view.x)),
    y: Math.min(layout.height - down * 0.1, Math.max(-down * 0.9, view.y)),
  };
}

/** Pods of a node stand in a square. @param {number} count */
export function podSide(count) {
  return Math.max(1, Math.ceil(Math.sqrt(count)));
}

/** The pod at this place of its node; null beside them.
 * @param {number} count @param {number} fractionX @param {number} fractionY @returns {number | null} */
export function podAt(count, fractionX, fractionY) {
  const side = podSide(count);
  const found = Math.floor(fractionY * side) * side + Math.floor(fractionX * side);
  return found < count ? found : null;
}
