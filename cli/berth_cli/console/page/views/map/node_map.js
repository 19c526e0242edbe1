// The map: groups of nodes on a canvas. What can be seen here is in the table too, for keyboard and screen reader.

import { BEYOND, STEPS, colourOf } from '../../model/map/colours.js';
import {
  cellAt,
  fit,
  hit,
  keepInSight,
  layOut,
  pan,
  podAt,
  podSide,
  TITLE,
  visible,
  zoom,
} from '../../model/map/layout.js';

/**
 * @typedef {import('../../model/cluster.js').Pod} Pod
 * @typedef {import('../../model/map/layout.js').Layout} Layout
 * @typedef {import('../../model/map/layout.js').View} View
 *
 * @typedef {object} SceneGroup
 * @property {string} title
 * @property {number[]} ids of the nodes
 * @property {string[]} names
 * @property {Int8Array} steps of the scale; -1: the node has none of the resource
 * @property {Uint8Array} marks 1 unschedulable, 2 not ready or unreadable
 *
 * @typedef {object} Scene
 * @property {SceneGroup[]} groups
 * @property {(node: number) => readonly Pod[]} podsOf
 * @property {(pod: Pod, node: number) => number} podStep
 *
 * @typedef {object} Place what is under the pointer
 * @property {number} group
 * @property {number | null} cell
 * @property {Pod | null} pod
 *
 * @typedef {object} Listener
 * @property {(place: Place) => void} onOpen
 * @property {(place: Place | null, x: number, y: number) => void} onPoint
 */

const NAMES_SCALE = 72;
const PODS_SCALE = 26;
const MARKS_SCALE = 5;
const CLICK_PIXELS = 5;
const KEY_PIXELS = 60;
const ZOOM_STEP = 1.4;

export const UNSCHEDULABLE_MARK = 1;
export const NOT_READY_MARK = 2;

export class NodeMap {
  /** @param {HTMLCanvasElement} canvas @param {Listener} listener */
  constructor(canvas, listener) {
    this.canvas = canvas;
    this.listener = listener;
    const context = canvas.getContext('2d', { alpha: false });
    if (!context) throw new Error('this browser has no canvas');
    this.context = context;
    /** @type {Scene} */
    this.scene = { groups: [], podsOf: () => [], podStep: () => 0 };
    /** @type {Layout} */
    this.layout = { width: 1, height: 1, blocks: [] };
    this.shape = '';
    /** @type {View} */
    this.view = { x: 0, y: 0, scale: 1 };
    this.isFitted = true;
    this.requested = 0;
    this.frames = 0;
    /** @type {{group: number, cell: number | null} | null} */
    this.marked = null;
    /** @type {ReadonlySet<string> | null} */
    this.lit = null;
    /** @type {Map<number, {x: number, y: number}>} */
    this.pointers = new Map();
    this.moved = 0;
    this.width = 1;
    this.height = 1;
    new ResizeObserver(() => this.resize()).observe(canvas);
    matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => this.request());
    canvas.addEventListener('pointerdown', (event) => this.onDown(event));
    canvas.addEventListener('pointermove', (event) => this.onMove(event));
    canvas.addEventListener('pointerup', (event) => this.onUp(event));
    canvas.addEventListener('pointercancel', (event) => this.pointers.delete(event.pointerId));
    canvas.addEventListener('pointerleave', () => this.listener.onPoint(null, 0, 0));
    canvas.addEventListener('wheel', (event) => this.onWheel(event), { passive: false });
    canvas.addEventListener('keydown', (event) => this.onKey(event));
    this.resize();
  }

  /** @param {Scene} scene */
  setScene(scene) {
    this.scene = scene;
    const shape = scene.groups.map((group) => `${group.title}\u0000${group.ids.length}`).join('\u0001');
    if (shape !== this.shape) {
      this.shape = shape;
      this.layOut();
    }
    this.request();
  }

  layOut() {
    this.layout = layOut(
      this.scene.groups.map((group) => group.ids.length),
      this.width / this.height,
    );
    if (this.isFitted) this.fitAll();
    else this.view = keepInSight(this.view, this.layout, this.width, this.height);
  }

  /** All groups. */
  fitAll() {
    this.isFitted = true;
    const { width, height } = this.layout;
    this.setView(fit({ x: -0.5, y: -0.5, width: width + 1, height: height + 1 }, this.width, this.height));
  }

  /** One group. @param {number} group */
  fitGroup(group) {
    const block = this.layout.blocks[group];
    if (!block) return;
    this.isFitted = false;
    const part = { x: block.x - 0.5, y: block.y - 0.5, width: block.columns + 1, height: block.rows + TITLE + 1 };
    this.setView(fit(part, this.width, this.height));
  }

  /** One node with its pods. @param {number} group @param {number} cell */
  fitNode(group, cell) {
    const block = this.layout.blocks[group];
    if (!block) return;
    this.isFitted = false;
    const { x, y } = cellAt(block, cell);
    this.setView(fit({ x: x - 0.6, y: y - 0.6, width: 2.2, height: 2.2 }, this.width, this.height));
  }

  /** @param {{group: number, cell: number | null} | null} place */
  mark(place) {
    this.marked = place;
    this.request();
  }

  /** These nodes stand out from all others; null: none does. @param {ReadonlySet<string> | null} names */
  light(names) {
    this.lit = names;
    this.request();
  }

  /** From the middle. @param {number} factor */
  zoomBy(factor) {
    this.zoomAt(factor, this.width / 2, this.height / 2);
  }

  /** @param {number} factor @param {number} left @param {number} top */
  zoomAt(factor, left, top) {
    this.isFitted = false;
    this.setView(
      keepInSight(zoom(this.view, factor, left, top, this.leastScale), this.layout, this.width, this.height),
    );
  }

  get leastScale() {
    return Math.min(this.width / (this.layout.width + 1), this.height / (this.layout.height + 1)) / 2;
  }

  /** @param {View} view */
  setView(view) {
    this.view = view;
    this.request();
  }

  // Input

  /** @param {PointerEvent} event */
  onDown(event) {
    this.canvas.setPointerCapture(event.pointerId);
    this.pointers.set(event.pointerId, { x: event.offsetX, y: event.offsetY });
    if (this.pointers.size === 1) this.moved = 0;
  }

  /** @param {PointerEvent} event */
  onMove(event) {
    const before = this.pointers.get(event.pointerId);
    if (!before) {
      this.listener.onPoint(this.placeAt(event.offsetX, event.offsetY), event.offsetX, event.offsetY);
      return;
    }
    const [left, top] = [event.offsetX - before.x, event.offsetY - before.y];
    const other = [...this.pointers].find(([id]) => id !== event.pointerId)?.[1];
    this.pointers.set(event.pointerId, { x: event.offsetX, y: event.offsetY });
    this.moved += Math.abs(left) + Math.abs(top);
    if (other) {
      const was = Math.hypot(before.x - other.x, before.y - other.y);
      const is = Math.hypot(event.offsetX - other.x, event.offsetY - other.y);
      if (was > 0 && is > 0) this.zoomAt(is / was, (event.offsetX + other.x) / 2, (event.offsetY + other.y) / 2);
    } else if (this.moved > CLICK_PIXELS) {
      this.panBy(left, top);
    }
  }

  /** @param {PointerEvent} event */
  onUp(event) {
    this.pointers.delete(event.pointerId);
    if (this.pointers.size || this.moved > CLICK_PIXELS) return;
    const place = this.placeAt(event.offsetX, event.offsetY);
    if (place) this.listener.onOpen(place);
  }

  /** Without Ctrl and without the focus the wheel scrolls the page. @param {WheelEvent} event */
  onWheel(event) {
    if (!event.ctrlKey && document.activeElement !== this.canvas) return;
    event.preventDefault();
    this.zoomAt(Math.exp(-event.deltaY / 300), event.offsetX, event.offsetY);
  }

  /** @param {KeyboardEvent} event */
  onKey(event) {
    const factor = { '+': ZOOM_STEP, '=': ZOOM_STEP, '-': 1 / ZOOM_STEP }[event.key];
    /** @type {Record<string, [number, number]>} */
    const moves = {
      ArrowLeft: [KEY_PIXELS, 0],
      ArrowRight: [-KEY_PIXELS, 0],
      ArrowUp: [0, KEY_PIXELS],
      ArrowDown: [0, -KEY_PIXELS],
    };
    const move = moves[event.key];
    if (factor) this.zoomBy(factor);
    else if (move) this.panBy(move[0], move[1]);
    else if (event.key === '0') this.fitAll();
    else return;
    event.preventDefault();
  }

  /** @param {number} left @param {number} top */
  panBy(left, top) {
    this.isFitted = false;
    this.setView(pan(this.view, left, top, this.layout, this.width, this.height));
  }

  /** @param {number} left @param {number} top @returns {Place | null} */
  placeAt(left, top) {
    const { view } = this;
    const found = hit(this.layout, view.x + left / view.scale, view.y + top / view.scale);
    if (!found) return null;
    const place = { group: found.block, cell: found.cell, pod: null };
    const group = this.scene.groups[found.block];
    if (found.cell === null || view.scale < PODS_SCALE || !group) return place;
    const pods = this.scene.podsOf(group.ids[found.cell]);
    const at = podAt(pods.length, (found.fractionX - 0.08) / 0.84, (found.fractionY - 0.08) / 0.84);
    return { ...place, pod: at === null || at < 0 ? null : (pods[at] ?? null) };
  }

  // Painting

  resize() {
    const box = this.canvas.getBoundingClientRect();
    this.width = Math.max(1, box.width);
    this.height = Math.max(1, box.height);
    const ratio = window.devicePixelRatio || 1;
    this.canvas.width = Math.round(this.width * ratio);
    this.canvas.height = Math.round(this.height * ratio);
    this.context.setTransform(ratio, 0, 0, ratio, 0, 0);
    this.layOut();
    this.request();
  }

  request() {
    if (this.requested) return;
    this.requested = requestAnimationFrame(() => {
      this.requested = 0;
      this.draw();
    });
  }

  draw() {
    this.frames += 1;
    const { context, view } = this;
    const style = getComputedStyle(this.canvas);
    const ink = style.color;
    context.fillStyle = style.backgroundColor;
    context.fillRect(0, 0, this.width, this.height);
    const parts = visible(this.layout, view, this.width, this.height);
    const gap = view.scale >= 4 ? Math.min(2, view.scale * 0.12) : 0;
    this.drawNodes(parts, gap, ink);
    if (view.scale >= PODS_SCALE) this.drawPods(parts, style);
    if (this.lit) this.drawShade(parts, this.lit, style.backgroundColor);
    this.drawTitles(parts, ink);
    this.drawMarked(ink);
  }

  /** One path for each colour. @param {ReturnType<typeof visible>} parts @param {number} gap @param {string} ink */
  drawNodes(parts, gap, ink) {
    const { context, view } = this;
    const size = Math.max(0.6, view.scale - gap);
    /** @type {(Path2D | undefined)[]} */
    const paths = [];
    const none = new Path2D();
    const marks = new Path2D();
    for (const { block, first, last } of parts) {
      const group = this.scene.groups[block.index];
      const end = Math.min(block.count, (last + 1) * block.columns);
      for (let cell = first * block.columns; cell < end; cell += 1) {
        const x = (block.x + (cell % block.columns) - view.x) * view.scale;
        if (x > this.width || x + size < 0) continue;
        const y = (block.y + TITLE + Math.floor(cell / block.columns) - view.y) * view.scale;
        const step = group.steps[cell];
        if (step < 0) none.rect(x + 0.5, y + 0.5, Math.max(0.2, size - 1), Math.max(0.2, size - 1));
        else (paths[step] ??= new Path2D()).rect(x, y, size, size);
        if (group.marks[cell] && view.scale >= MARKS_SCALE) {
          marks.moveTo(x, y + size);
          marks.lineTo(x + size, y);
          if (group.marks[cell] & NOT_READY_MARK) {
            marks.moveTo(x, y);
            marks.lineTo(x + size, y + size);
          }
        }
      }
    }
    paths.forEach((path, step) => {
      if (!path) return;
      context.fillStyle = colourOf(step);
      context.fill(path);
      if (step >= STEPS && view.scale >= MARKS_SCALE) {
        context.strokeStyle = ink;
        context.lineWidth = 1;
        context.stroke(path);
      }
    });
    context.globalAlpha = 0.35;
    context.strokeStyle = ink;
    context.lineWidth = 1;
    context.stroke(none);
    context.globalAlpha = 1;
    context.lineWidth = Math.max(1, Math.min(3, view.scale / 12));
    // Seen on dark and on light cells.
    context.strokeStyle = '#ffffff';
    context.stroke(marks);
    context.lineWidth /= 2;
    context.strokeStyle = '#000000';
    context.stroke(marks);
  }

  /** Over the nodes that are not lit. @param {ReturnType<typeof visible>} parts @param {ReadonlySet<string>} lit
   * @param {string} shade */
  drawShade(parts, lit, shade) {
    const { context, view } = this;
    const path = new Path2D();
    for (const { block, first, last } of parts) {
      const { names } = this.scene.groups[block.index];
      const end = Math.min(block.count, (last + 1) * block.columns);
      for (let cell = first * block.columns; cell < end; cell += 1) {
        if (lit.has(names[cell])) continue;
        const { x, y } = cellAt(block, cell);
        path.rect((x - view.x) * view.scale, (y - view.y) * view.scale, view.scale, view.scale);
      }
    }
    context.globalAlpha = 0.82;
    context.fillStyle = shade;
    context.fill(path);
    context.globalAlpha = 1;
  }

  /** @param {ReturnType<typeof visible>} parts @param {CSSStyleDeclaration} style */
  drawPods(parts, style) {
    const { context, view } = this;
    /** @type {(Path2D | undefined)[]} */
    const paths = [];
    const inner = view.scale * 0.84;
    const backs = new Path2D();
    for (const { block, first, last } of parts) {
      const group = this.scene.groups[block.index];
      const end = Math.min(block.count, (last + 1) * block.columns);
      for (let cell = first * block.columns; cell < end; cell += 1) {
        const x = (block.x + (cell % block.columns) + 0.08 - view.x) * view.scale;
        if (x > this.width || x + inner < 0) continue;
        const y = (block.y + TITLE + Math.floor(cell / block.columns) + 0.08 - view.y) * view.scale;
        const pods = this.scene.podsOf(group.ids[cell]);
        if (pods.length) backs.rect(x, y, inner, inner);
        const side = podSide(pods.length);
        const pitch = inner / side;
        const size = Math.max(1, pitch - Math.min(2, pitch * 0.2));
        pods.forEach((pod, at) => {
          const step = this.scene.podStep(pod, group.ids[cell]);
          (paths[step] ??= new Path2D()).rect(x + (at % side) * pitch, y + Math.floor(at / side) * pitch, size, size);
        });
      }
    }
    context.fillStyle = style.backgroundColor;
    context.fill(backs);
    paths.forEach((path, step) => {
      if (!path) return;
      context.fillStyle = step >= STEPS ? BEYOND : colourOf(step);
      context.fill(path);
    });
  }

  /** @param {ReturnType<typeof visible>} parts @param {string} ink */
  drawTitles(parts, ink) {
    const { context, view } = this;
    context.fillStyle = ink;
    context.textBaseline = 'bottom';
    const size = Math.min(15, Math.max(9, view.scale * TITLE * 0.6));
    context.font = `600 ${size}px system-ui, sans-serif`;
    for (const { block } of parts) {
      const room = block.columns * view.scale;
      if (room < 24) continue;
      const left = Math.max(2, (block.x - view.x) * view.scale);
      const top = Math.max(size + 3, (block.y + TITLE - view.y) * view.scale - 3);
      const right = (block.x + block.columns - view.x) * view.scale;
      const group = this.scene.groups[block.index];
      context.save();
      context.beginPath();
      context.rect(left, top - size - 3, Math.max(0, right - left), size + 5);
      context.clip();
      context.fillText(`${group.title} · ${block.count}`, left, top);
      context.restore();
    }
    if (view.scale >= NAMES_SCALE) this.drawNames(parts);
  }

  /** @param {ReturnType<typeof visible>} parts */
  drawNames(parts) {
    const { context, view } = this;
    context.font = '11px system-ui, sans-serif';
    for (const { block, first, last } of parts) {
      const group = this.scene.groups[block.index];
      const end = Math.min(block.count, (last + 1) * block.columns);
      for (let cell = first * block.columns; cell < end; cell += 1) {
        const { x, y } = cellAt(block, cell);
        const left = (x - view.x) * view.scale;
        if (left > this.width || left + view.scale < 0) continue;
        const top = (y + 1 - view.y) * view.scale - 3;
        context.save();
        context.beginPath();
        context.rect(left, top - 15, view.scale - 3, 17);
        context.clip();
        context.fillStyle = '#000000';
        context.fillRect(left, top - 14, view.scale - 3, 16);
        context.fillStyle = '#ffffff';
        context.fillText(group.names[cell], left + 4, top);
        context.restore();
      }
    }
  }

  /** @param {string} ink */
  drawMarked(ink) {
    const { context, view, marked } = this;
    const block = marked ? this.layout.blocks[marked.group] : undefined;
    if (!marked || !block) return;
    const place =
      marked.cell === null
        ? { x: block.x, y: block.y, width: block.columns, height: block.rows + TITLE }
        : { ...cellAt(block, marked.cell), width: 1, height: 1 };
    context.strokeStyle = ink;
    context.lineWidth = 3;
    context.strokeRect(
      (place.x - view.x) * view.scale - 2,
      (place.y - view.y) * view.scale - 2,
      Math.max(3, place.width * view.scale) + 3,
      Math.max(3, place.height * view.scale) + 3,
    );
  }
}
