// Where groups, nodes and pods stand on the map. Lengths are in cells: a node takes one.

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
 * @typedef {object} Hit
 * @property {number} block
 * @property {number | null} cell of the node in its group; null: the group's title
 * @property {number} fractionX within the cell
 * @property {number} fractionY
 */

/** Cells above a group's nodes, for its title. */
export const TITLE = 2;
const GAP = 1;

/** Columns for each row of a group's nodes; the first ones are preferred. */
const SHAPES = [1.3, 2.4, 0.7];
const CLEARLY_LARGER = 1.1;

/** Groups in rows, in their order, so that cells are as large as they can be where the map has this ratio of width to
 * height. @param {readonly number[]} counts @param {number} ratio @returns {Layout} */
export function layOut(counts, ratio) {
  let best = { layout: inRows(counts, [], 1), scale: 0 };
  for (const shape of SHAPES) {
    const sizes = counts.map((count) => sizeOf(count, shape));
    let widest = best;
    for (const limit of limitsOf(sizes)) {
      const layout = inRows(counts, sizes, limit);
      const scale = Math.min(Math.max(0.1, ratio) / (layout.width + 1), 1 / (layout.height + 1));
      if (scale > widest.scale) widest = { layout, scale };
    }
    if (widest.scale > best.scale * CLEARLY_LARGER) best = widest;
  }
  return best.layout;
}

/** @param {number} count @param {number} shape */
function sizeOf(count, shape) {
  const columns = Math.max(1, Math.min(count, Math.ceil(Math.sqrt(count * shape))));
  return { columns, rows: Math.max(1, Math.ceil(count / columns)) };
}

/** Widths at which one more group stands in the first row. @param {readonly {columns: number}[]} sizes */
function limitsOf(sizes) {
  const widest = sizes.reduce((most, { columns }) => Math.max(most, columns), 0);
  let width = -GAP;
  return sizes.map(({ columns }) => Math.max(widest, (width += columns + GAP)));
}

/** Rows of at most this width. @param {readonly number[]} counts
 * @param {readonly {columns: number, rows: number}[]} sizes @param {number} limit @returns {Layout} */
function inRows(counts, sizes, limit) {
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

/** Pods of a node stand in a square. @param {number} count */
export function podSide(count) {
  return Math.max(1, Math.ceil(Math.sqrt(count)));
}

/** The pod at this place of its node; null beside them.
 * @param {number} count @param {number} fractionX @param {number} fractionY @returns {number | null} */
export function podAt(count, fractionX, fractionY) {
  if (Math.min(fractionX, fractionY) < 0 || Math.max(fractionX, fractionY) >= 1) return null;
  const side = podSide(count);
  const found = Math.floor(fractionY * side) * side + Math.floor(fractionX * side);
  return found < count ? found : null;
}
