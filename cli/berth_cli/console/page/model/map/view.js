// What part of the map is seen.

import { TITLE } from './layout.js';

/**
 * @typedef {import('./layout.js').Block} Block
 * @typedef {import('./layout.js').Layout} Layout
 *
 * @typedef {object} View pixels = (cells - x or y) * scale
 * @property {number} x
 * @property {number} y
 * @property {number} scale pixels of a cell
 */

export const MOST_SCALE = 320;

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

/** What is in the middle, and the scale, in hundredths: it names the view in the address. @param {View} view
 * @param {number} width @param {number} height @returns {string} */
export function viewText({ x, y, scale }, width, height) {
  const rounded = (/** @type {number} */ value) => Math.round(value * 100) / 100;
  return [x + width / 2 / scale, y + height / 2 / scale, scale].map(rounded).join(',');
}

/** The view of this name. @param {string} text as viewText makes it @param {number} width @param {number} height
 * @param {number} least scale @returns {View} */
export function viewAt(text, width, height, least) {
  const [x, y, wanted] = text.split(',').map(Number);
  const scale = Math.min(MOST_SCALE, Math.max(least, wanted));
  return { scale, x: x - width / 2 / scale, y: y - height / 2 / scale };
}

/** Zoom so that what is at this pixel stays there.
 * @param {View} view @param {number} factor @param {number} left @param {number} top @param {number} least scale
 * @returns {View} */
export function zoom(view, factor, left, top, least) {
  const scale = Math.min(MOST_SCALE, Math.max(least, view.scale * factor));
  return { scale, x: view.x + left / view.scale - left / scale, y: view.y + top / view.scale - top / scale };
}

/** Move by pixels. @param {View} view @param {number} left @param {number} top @returns {View} */
export function pan(view, left, top) {
  return { ...view, x: view.x - left / view.scale, y: view.y - top / view.scale };
}

/** A part of the map stays in sight. @param {View} view @param {Layout} layout @param {number} width
 * @param {number} height @returns {View} */
export function keepInSight(view, layout, width, height) {
  const across = width / view.scale;
  const down = height / view.scale;
  return {
    scale: view.scale,
    x: Math.min(layout.width - across * 0.1, Math.max(-across * 0.9, view.x)),
    y: Math.min(layout.height - down * 0.1, Math.max(-down * 0.9, view.y)),
  };
}
