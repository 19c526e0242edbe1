// The map: groups of nodes, with a cell for each node in the color of its share. The table has the same content, for
// keyboard and screen reader.

import { colourOf, STEPS } from '../model/colours.js';
import { element, placeOf, setAttributes, setChildren, setText } from './dom.js';

/**
 * @typedef {{name: string, share: number | null, states: string[], title: string}} MapNode
 * @typedef {{key: string, title: string, short: string, nodes: MapNode[]}} MapGroup
 */

/** Columns for each row of a group. */
const RATIO = 1.6;

export class NodeMap {
  /** @param {(group: string, node: string) => void} onOpen node: empty for a group */
  constructor(onOpen) {
    this.place = placeOf('map');
    /** @type {ReadonlySet<string> | null} */
    this.lit = null;
    this.place.addEventListener('click', (/** @type {any} */ { target }) => {
      const group = target.closest('figure');
      const cell = target.closest('i, figcaption');
      if (cell) onOpen(group.dataset.item, cell.dataset.item ?? '');
    });
    const parts = Array.from({ length: STEPS }, (_, step) => coloured(element('span'), step / STEPS));
    placeOf('scale').append(...parts);
    coloured(/** @type {HTMLElement} */ (document.querySelector('#legend .beyond')), Infinity);
  }

  /** @param {MapGroup[]} groups @param {string} marked name of the node that is open @param {string} label of the map */
  show(groups, marked, label) {
    const count = groups.reduce((sum, { nodes }) => sum + nodes.length, 0);
    this.place.style.setProperty('--cell', `${Math.round(Math.min(44, Math.max(10, 420 / Math.sqrt(count))))}px`);
    setAttributes(this.place, { 'aria-label': label });
    setChildren(
      this.place,
      groups,
      ({ key }) => key,
      () => element('figure', {}, element('figcaption'), element('div', { class: 'cells' })),
      (figure, { title, short, nodes }) => {
        setText(figure.children[0], `${short} · ${nodes.length}`);
        setAttributes(figure.children[0], { title });
        figure.style.setProperty('--columns', `${Math.ceil(Math.sqrt(nodes.length * RATIO))}`);
        setChildren(
          figure.children[1],
          nodes,
          ({ name }) => name,
          () => element('i'),
          (cell, node) => {
            const state = node.states.map((each) => each.replace(' ', '-')).join(' ');
            coloured(cell, node.share);
            setAttributes(cell, { class: `cell ${state}${node.name === marked ? ' marked' : ''}`, title: node.title });
          },
        );
      },
    );
    this.light(this.lit);
  }

  /** Let these nodes stand out from all others; null: no nodes. @param {ReadonlySet<string> | null} names */
  light(names) {
    this.lit = names;
    for (const cell of this.place.querySelectorAll('.cell')) {
      cell.classList.toggle('dim', names !== null && !names.has(cell.dataset.item));
    }
  }
}

/** @param {HTMLElement} cell @param {number | null} share */
function coloured(cell, share) {
  const colour = colourOf(share);
  if (cell.dataset.colour === colour) return cell;
  cell.dataset.colour = colour;
  cell.style.backgroundColor = colour;
  return cell;
}
