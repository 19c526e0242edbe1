// The map: groups of nodes on a canvas, moved by pointer and keys. What can be seen here is in the table too, for
// keyboard and screen reader.

import { cellAt, hit, layOut, podAt, TITLE } from '../../model/map/layout.js';
import { fit, keepInSight, pan, viewAt, viewText, zoom } from '../../model/map/view.js';
import { ALL } from '../../model/url_state.js';
import { INSET, paint, PODS_SCALE } from './painter.js';

/**
 * @typedef {import('../../model/cluster.js').Pod} Pod
 * @typedef {import('../../model/map/view.js').View} View
 * @typedef {import('./painter.js').Picture} Picture
 * @typedef {import('./painter.js').Scene} Scene
 *
 * @typedef {object} Place what is under the pointer
 * @property {number} group
 * @property {number | null} cell
 * @property {Pod | null} pod
 *
 * @typedef {object} Listener
 * @property {(place: Place) => void} onOpen
 * @property {(place: Place | null, x: number, y: number) => void} onPoint
 * @property {() => void} onMove by hand
 */

const CLICK_PIXELS = 5;
const KEY_PIXELS = 60;
const ZOOM_STEP = 1.4;

export class NodeMap {
  /** @param {HTMLCanvasElement} canvas @param {Listener} listener */
  constructor(canvas, listener) {
    this.canvas = canvas;
    this.listener = listener;
    const context = canvas.getContext('2d', { alpha: false });
    if (!context) throw new Error('this browser has no canvas');
    this.context = context;
    /** @type {Picture} */
    this.picture = {
      scene: { groups: [], podsOf: () => [], podShare: () => 0 },
      layout: layOut([], 1),
      view: { x: 0, y: 0, scale: 1 },
      width: 1,
      height: 1,
      marked: null,
      lit: null,
    };
    this.shape = '';
    this.isFitted = true;
    this.requested = 0;
    /** @type {Map<number, {x: number, y: number}>} */
    this.pointers = new Map();
    this.moved = 0;
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
    this.picture.scene = scene;
    const shape = scene.groups.map((group) => `${group.title}\u0000${group.ids.length}`).join('\u0001');
    if (shape !== this.shape) {
      this.shape = shape;
      this.layOut();
    }
    this.request();
  }

  layOut() {
    const { scene, width, height } = this.picture;
    this.picture.layout = layOut(
      scene.groups.map((group) => group.ids.length),
      width / height,
    );
    if (this.isFitted) this.fitAll();
    else this.setView(this.picture.view);
  }

  /** All groups. */
  fitAll() {
    const { width, height } = this.picture.layout;
    this.fit({ x: -0.5, y: -0.5, width: width + 1, height: height + 1 });
    this.isFitted = true;
  }

  /** One group. @param {number} group */
  fitGroup(group) {
    const block = this.picture.layout.blocks[group];
    if (!block) return;
    this.fit({ x: block.x - 0.5, y: block.y - 0.5, width: block.columns + 1, height: block.rows + TITLE + 1 });
  }

  /** One node with its pods. @param {number} group @param {number} cell */
  fitNode(group, cell) {
    const block = this.picture.layout.blocks[group];
    if (!block) return;
    const { x, y } = cellAt(block, cell);
    this.fit({ x: x - 0.6, y: y - 0.6, width: 2.2, height: 2.2 });
  }

  /** @param {{x: number, y: number, width: number, height: number}} part */
  fit(part) {
    this.isFitted = false;
    this.picture.view = fit(part, this.picture.width, this.picture.height);
    this.request();
  }

  /** What is seen, as the address names it. */
  get at() {
    const { view, width, height } = this.picture;
    return this.isFitted ? ALL : viewText(view, width, height);
  }

  /** @param {string} at as the address names it */
  showAt(at) {
    if (at === ALL) return this.fitAll();
    const { width, height } = this.picture;
    this.isFitted = false;
    this.setView(viewAt(at, width, height, this.leastScale()));
  }

  /** @param {{group: number, cell: number | null} | null} place */
  mark(place) {
    this.picture.marked = place;
    this.request();
  }

  /** These nodes stand out from all others; null: none does. @param {ReadonlySet<string> | null} names */
  light(names) {
    this.picture.lit = names;
    this.request();
  }

  /** From the middle. @param {number} factor */
  zoomBy(factor) {
    this.zoomAt(factor, this.picture.width / 2, this.picture.height / 2);
  }

  /** @param {number} factor @param {number} left @param {number} top */
  zoomAt(factor, left, top) {
    this.isFitted = false;
    this.setView(zoom(this.picture.view, factor, left, top, this.leastScale()));
    this.listener.onMove();
  }

  /** Half of that which shows all groups. */
  leastScale() {
    const { layout, width, height } = this.picture;
    return Math.min(width / (layout.width + 1), height / (layout.height + 1)) / 2;
  }

  /** @param {View} view */
  setView(view) {
    const { layout, width, height } = this.picture;
    this.picture.view = keepInSight(view, layout, width, height);
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

  /** Without Ctrl the wheel scrolls the page. @param {WheelEvent} event */
  onWheel(event) {
    if (!event.ctrlKey && !event.metaKey) return;
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
    else if (event.key === '0') this.moveToAll();
    else return;
    event.preventDefault();
  }

  /** @param {number} left @param {number} top */
  panBy(left, top) {
    this.isFitted = false;
    this.setView(pan(this.picture.view, left, top));
    this.listener.onMove();
  }

  moveToAll() {
    this.fitAll();
    this.listener.onMove();
  }

  /** @param {number} left @param {number} top @returns {Place | null} */
  placeAt(left, top) {
    const { scene, layout, view } = this.picture;
    const found = hit(layout, view.x + left / view.scale, view.y + top / view.scale);
    if (!found) return null;
    const place = { group: found.block, cell: found.cell, pod: null };
    const group = scene.groups[found.block];
    if (found.cell === null || view.scale < PODS_SCALE || !group) return place;
    const pods = scene.podsOf(group.ids[found.cell]);
    const inner = 1 - 2 * INSET;
    const at = podAt(pods.length, (found.fractionX - INSET) / inner, (found.fractionY - INSET) / inner);
    return { ...place, pod: at === null ? null : pods[at] };
  }

  // Painting

  /** It has been seen. */
  get hasSize() {
    return this.picture.width > 1;
  }

  resize() {
    const box = this.canvas.getBoundingClientRect();
    // Hidden, as in Health: it comes back as it was.
    if (!box.width || !box.height) return;
    const { view, width, height } = this.picture;
    // What is in the middle stays there, as the address says.
    this.picture.view = pan(view, (box.width - width) / 2, (box.height - height) / 2);
    this.picture.width = box.width;
    this.picture.height = box.height;
    const ratio = window.devicePixelRatio || 1;
    this.canvas.width = Math.round(this.picture.width * ratio);
    this.canvas.height = Math.round(this.picture.height * ratio);
    this.context.setTransform(ratio, 0, 0, ratio, 0, 0);
    this.layOut();
    // The canvas is empty now, and the next frame may be paper.
    this.draw();
  }

  request() {
    if (this.requested) return;
    this.requested = requestAnimationFrame(() => {
      this.requested = 0;
      this.draw();
    });
  }

  /** Now; with the next frame after `request`. */
  draw() {
    paint(this.context, this.picture, getComputedStyle(this.canvas));
  }
}
