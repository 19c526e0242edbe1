// What the colours and marks of the map mean.

import { BEYOND, STEPS, colourOf } from '../../model/map/colours.js';
import { element } from '../elements/dom.js';

/** @param {HTMLElement} place */
export function showLegend(place) {
  const scale = element('span', { class: 'scale', 'aria-hidden': 'true' });
  for (let step = 0; step < STEPS; step += 1) {
    const part = element('span');
    part.style.backgroundColor = colourOf(step);
    scale.append(part);
  }
  const beyond = element('span', { class: 'swatch', 'aria-hidden': 'true' });
  beyond.style.backgroundColor = BEYOND;
  place.replaceChildren(
    item('0 %', scale, '100 % requested'),
    item(beyond, 'more than 100 %'),
    item(element('span', { class: 'swatch none', 'aria-hidden': 'true' }), 'has none'),
    item(element('span', { class: 'swatch unschedulable', 'aria-hidden': 'true' }), 'unschedulable'),
    item(element('span', { class: 'swatch not-ready', 'aria-hidden': 'true' }), 'not ready'),
    item(element('span', { class: 'swatch pods', 'aria-hidden': 'true' }), 'pods, stronger where they request more'),
  );
}

/** @param {...(string | HTMLElement)} parts */
function item(...parts) {
  return element('li', {}, ...parts);
}
