// How the map looks: nodes in the colours of their shares, their pods where there is room, titles and marks.

import { colourOf, isLight, STEPS } from '../../model/map/colours.js';
import { cellAt, podSide, TITLE } from '../../model/map/layout.js';
import { visible } from '../../model/map/view.js';

/**
 * @typedef {import('../../model/cluster.js').Pod} Pod
 * @typedef {import('../../model/map/layout.js').Layout} Layout
 * @typedef {import('../../model/map/view.js').View} View
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
 * @property {(pod: Pod) => number} podShare of what the pod requests that requests most
 *
 * @typedef {object} Picture
 * @property {Scene} scene
 * @property {Layout} layout of the scene's groups
 * @property {View} view
 * @property {number} width pixels
 * @property {number} height
 * @property {{group: number, cell: number | null} | null} marked has a frame
 * @property {ReadonlySet<string> | null} lit nodes that stand out from all others
 *
 * @typedef {ReturnType<typeof visible>} Parts
 */

/** Pixels of a cell from which on these are drawn. */
const NAMES_SCALE = 72;
const MARKS_SCALE = 5;
export const PODS_SCALE = 26;

/** How much of a node's colour is covered by a pod: by what it requests, in steps. */
const POD_COVERS = [0.18, 0.32, 0.46, 0.6];

/** What is left free around the pods of a node, in cells. */
export const INSET = 0.08;

export const UNSCHEDULABLE_MARK = 1;
export const NOT_READY_MARK = 2;

/** @param {CanvasRenderingContext2D} context @param {Picture} picture
 * @param {{color: string, backgroundColor: string}} style */
export function paint(context, picture, { color, backgroundColor }) {
  context.fillStyle = backgroundColor;
  // The canvas has whole pixels, and so a part of one more: what was there before would shine through.
  context.fillRect(0, 0, picture.width + 2, picture.height + 2);
  const parts = visible(picture.layout, picture.view, picture.width, picture.height);
  paintNodes(context, picture, parts, color);
  if (picture.view.scale >= PODS_SCALE) paintPods(context, picture, parts, color);
  if (picture.lit) paintShade(context, picture, parts, picture.lit, backgroundColor);
  paintTitles(context, picture, parts, color);
  if (picture.view.scale >= NAMES_SCALE) paintNames(context, picture, parts);
  paintFrame(context, picture, color);
}

/** Calls with each node in sight, and the pixel of its upper left corner. @param {Picture} picture @param {Parts} parts
 * @param {(group: SceneGroup, cell: number, x: number, y: number) => void} visit */
function eachNode({ scene, view, width }, parts, visit) {
  for (const { block, first, last } of parts) {
    const group = scene.groups[block.index];
    const end = Math.min(block.count, (last + 1) * block.columns);
    for (let cell = first * block.columns; cell < end; cell += 1) {
      const x = (block.x + (cell % block.columns) - view.x) * view.scale;
      if (x > width || x + view.scale < 0) continue;
      visit(group, cell, x, (block.y + TITLE + Math.floor(cell / block.columns) - view.y) * view.scale);
    }
  }
}

/** One path for each colour. @param {CanvasRenderingContext2D} context @param {Picture} picture @param {Parts} parts
 * @param {string} ink */
function paintNodes(context, picture, parts, ink) {
  const { scale } = picture.view;
  const gap = scale >= 4 ? Math.min(2, scale * 0.12) : 0;
  const size = Math.max(0.6, scale - gap);
  /** @type {(Path2D | undefined)[]} */
  const paths = [];
  const none = new Path2D();
  const marks = new Path2D();
  eachNode(picture, parts, (group, cell, x, y) => {
    const step = group.steps[cell];
    if (step < 0) none.rect(x + 0.5, y + 0.5, Math.max(0.2, size - 1), Math.max(0.2, size - 1));
    else (paths[step] ??= new Path2D()).rect(x, y, size, size);
    if (group.marks[cell] && scale >= MARKS_SCALE) addMark(marks, group.marks[cell], x, y, size);
  });
  paths.forEach((path, step) => {
    context.fillStyle = colourOf(step);
    if (path) context.fill(path);
  });
  const beyond = paths[STEPS];
  if (beyond && scale >= MARKS_SCALE) stroke(context, beyond, ink, 1);
  context.globalAlpha = 0.35;
  stroke(context, none, ink, 1);
  context.globalAlpha = 1;
  const width = Math.max(1, Math.min(3, scale / 12));
  // Seen on dark and on light cells.
  stroke(context, marks, '#ffffff', width);
  stroke(context, marks, '#000000', width / 2);
}

/** @param {Path2D} path @param {number} mark @param {number} x @param {number} y @param {number} size */
function addMark(path, mark, x, y, size) {
  path.moveTo(x, y + size);
  path.lineTo(x + size, y);
  if (!(mark & NOT_READY_MARK)) return;
  path.moveTo(x, y);
  path.lineTo(x + size, y + size);
}

/** @param {CanvasRenderingContext2D} context @param {Path2D} path @param {string} colour @param {number} width */
function stroke(context, path, colour, width) {
  context.strokeStyle = colour;
  context.lineWidth = width;
  context.stroke(path);
}

/** Over the colour of their node, which is still seen. @param {CanvasRenderingContext2D} context
 * @param {Picture} picture @param {Parts} parts @param {string} ink */
function paintPods(context, picture, parts, ink) {
  const { scene, view } = picture;
  const inner = view.scale * (1 - 2 * INSET);
  /** @type {Map<string, Path2D[]>} */
  const paths = new Map(['#ffffff', '#000000', ink].map((colour) => [colour, POD_COVERS.map(() => new Path2D())]));
  eachNode(picture, parts, (group, cell, left, top) => {
    const pods = scene.podsOf(group.ids[cell]);
    if (!pods.length) return;
    const x = left + INSET * view.scale;
    const y = top + INSET * view.scale;
    const side = podSide(pods.length);
    const pitch = inner / side;
    const size = Math.max(1, pitch - Math.min(2, pitch * 0.2));
    const step = group.steps[cell];
    const covers = paths.get(step < 0 ? ink : isLight(step) ? '#000000' : '#ffffff') ?? [];
    pods.forEach((pod, at) => {
      const cover = Math.min(POD_COVERS.length - 1, Math.floor(scene.podShare(pod) * POD_COVERS.length));
      covers[cover].rect(x + (at % side) * pitch, y + Math.floor(at / side) * pitch, size, size);
    });
  });
  for (const [colour, covers] of paths) {
    context.fillStyle = colour;
    covers.forEach((path, cover) => {
      context.globalAlpha = POD_COVERS[cover];
      context.fill(path);
    });
  }
  context.globalAlpha = 1;
}

/** Over the nodes that are not lit. @param {CanvasRenderingContext2D} context @param {Picture} picture
 * @param {Parts} parts @param {ReadonlySet<string>} lit @param {string} shade */
function paintShade(context, picture, parts, lit, shade) {
  const { scale } = picture.view;
  const path = new Path2D();
  eachNode(picture, parts, (group, cell, x, y) => {
    if (!lit.has(group.names[cell])) path.rect(x, y, scale, scale);
  });
  context.globalAlpha = 0.82;
  context.fillStyle = shade;
  context.fill(path);
  context.globalAlpha = 1;
}

/** Of a group whose upper end is out of sight the title stays at the edge. @param {CanvasRenderingContext2D} context
 * @param {Picture} picture @param {Parts} parts @param {string} ink */
function paintTitles(context, { scene, view }, parts, ink) {
  context.textBaseline = 'bottom';
  const size = Math.min(15, Math.max(9, view.scale * TITLE * 0.6));
  context.font = `600 ${size}px system-ui, sans-serif`;
  context.fillStyle = ink;
  for (const { block } of parts) {
    if (block.columns * view.scale < 24) continue;
    const left = Math.max(2, (block.x - view.x) * view.scale);
    const top = Math.max(size + 3, (block.y + TITLE - view.y) * view.scale - 3);
    const right = (block.x + block.columns - view.x) * view.scale;
    clipped(context, left, top - size - 3, right - left, size + 5, () => {
      context.fillText(`${scene.groups[block.index].title} · ${block.count}`, left, top);
    });
  }
}

/** @param {CanvasRenderingContext2D} context @param {Picture} picture @param {Parts} parts */
function paintNames(context, picture, parts) {
  const { scale } = picture.view;
  context.font = '11px system-ui, sans-serif';
  eachNode(picture, parts, (group, cell, x, y) => {
    const bottom = y + scale - 3;
    clipped(context, x, bottom - 15, scale - 3, 17, () => {
      context.fillStyle = '#000000';
      context.fillRect(x, bottom - 14, scale - 3, 16);
      context.fillStyle = '#ffffff';
      context.fillText(group.names[cell], x + 4, bottom);
    });
  });
}

/** @param {CanvasRenderingContext2D} context @param {number} x @param {number} y @param {number} width
 * @param {number} height @param {() => void} draw nothing outside is changed */
function clipped(context, x, y, width, height, draw) {
  context.save();
  context.beginPath();
  context.rect(x, y, Math.max(0, width), height);
  context.clip();
  draw();
  context.restore();
}

/** Around what is marked. @param {CanvasRenderingContext2D} context @param {Picture} picture @param {string} ink */
function paintFrame(context, { layout, view, marked }, ink) {
  const block = marked ? layout.blocks[marked.group] : undefined;
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
