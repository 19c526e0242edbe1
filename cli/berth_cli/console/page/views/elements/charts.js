// Lines and bars on small canvases. The text above each says what it shows, so the canvas is hidden from screen readers.

import { element } from './dom.js';

/**
 * @typedef {object} Line
 * @property {[number, number][]} points
 * @property {string} colour name of a custom property
 * @property {boolean} [isDashed]
 */

export const WIDTH = 600;
export const HEIGHT = 80;
/** Pixels for one of these, so that lines are sharp on dense screens too. */
const DENSITY = 2;

/** @param {string} title @param {string} text @param {Line[]} lines @param {[number, number, number, number][]} [bars] */
export function chart(title, text, lines, bars = []) {
  const size = { width: WIDTH * DENSITY, height: (HEIGHT + 4) * DENSITY };
  const canvas = element('canvas', { ...size, class: 'line', 'aria-hidden': 'true' });
  const context = canvas.getContext('2d');
  if (context) {
    context.scale(DENSITY, DENSITY);
    const style = getComputedStyle(document.documentElement);
    context.fillStyle = style.getPropertyValue('--line');
    for (const [x, y, width, height] of bars) context.fillRect(x + 0.5, y + 2, Math.max(1, width - 1), height);
    for (const { points, colour, isDashed } of lines) {
      context.strokeStyle = style.getPropertyValue(colour);
      context.setLineDash(isDashed ? [5, 4] : []);
      context.lineWidth = 2;
      context.lineCap = 'round';
      context.beginPath();
      // A line of one point would not be seen.
      for (const [x, y] of points.length === 1 ? [points[0], points[0]] : points) context.lineTo(x, y + 2);
      context.stroke();
    }
  }
  return element('figure', {}, element('figcaption', {}, element('strong', {}, title), ` ${text}`), canvas);
}
