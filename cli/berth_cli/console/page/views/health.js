// Health: the node cache, its leader, what is published, and the reservations; and how old the data was over time.

import { ageLine, factGroups, reservationTexts } from '../model/health.js';
import { formatAge } from '../model/quantities.js';
import { element } from './dom.js';

/**
 * @typedef {import('../model/health.js').HealthDocument} HealthDocument
 * @typedef {import('../session.js').Session} Session
 */

const ASK_MS = 2000;
const WIDTH = 600;
const HEIGHT = 80;

export class Health {
  /** @param {Document} page @param {Session} session */
  constructor(page, session) {
    this.session = session;
    const place = page.getElementById('health-content');
    if (!place) throw new Error('the page has no health-content');
    this.place = place;
    this.isShown = false;
    this.isAsking = false;
  }

  /** @param {boolean} isShown */
  show(isShown) {
    this.isShown = isShown;
    if (isShown && !this.isAsking) this.ask();
  }

  /** As long as the view is shown. */
  async ask() {
    this.isAsking = true;
    while (this.isShown) {
      try {
        this.draw(await (await this.session.get('/api/health')).json());
      } catch (error) {
        this.place.replaceChildren(element('p', {}, error instanceof Error ? error.message : String(error)));
      }
      await new Promise((resolve) => setTimeout(resolve, ASK_MS));
    }
    this.isAsking = false;
  }

  /** @param {HealthDocument} found */
  draw(found) {
    const reservations = found.reservations?.reservations ?? [];
    this.place.replaceChildren(
      element(
        'div',
        { class: 'cards' },
        ...factGroups(found).map(({ title, problem, facts }) =>
          element(
            'section',
            { class: 'card' },
            element('h3', {}, title),
            problem ? element('p', { class: 'problem' }, problem) : null,
            element('dl', {}, ...facts.flatMap(([name, value]) => [element('dt', {}, name), element('dd', {}, value)])),
          ),
        ),
      ),
      ...(found.samples.length > 1 ? [ageChart(found)] : []),
      ...(reservations.length ? [reservationTable(reservations)] : []),
    );
  }
}

/** @param {HealthDocument} found */
function ageChart(found) {
  const { points, most } = ageLine(found.samples, WIDTH, HEIGHT);
  const canvas = element('canvas', { width: WIDTH, height: HEIGHT + 4, class: 'line', 'aria-hidden': 'true' });
  const context = canvas.getContext('2d');
  if (context) {
    context.strokeStyle = getComputedStyle(document.documentElement).getPropertyValue('--accent');
    context.lineWidth = 2;
    context.beginPath();
    for (const [x, y] of points) context.lineTo(x, y + 2);
    context.stroke();
  }
  const last = found.samples.at(-1)?.[1] ?? 0;
  const span = (found.samples.at(-1)?.[0] ?? 0) - found.samples[0][0];
  const text = `Age of the data over the last ${formatAge(span)}: now ${last.toFixed(1)} s, at most ${most.toFixed(1)} s`;
  return element('figure', {}, element('figcaption', {}, text), canvas);
}

/** @param {Record<string, any>[]} reservations */
function reservationTable(reservations) {
  const heads = ['Pod', 'Node', 'State', 'Holds', 'Why'];
  return element(
    'div',
    { class: 'scrolled', tabindex: 0, role: 'region', 'aria-label': 'Reservations' },
    element(
      'table',
      { class: 'facts' },
      element('thead', {}, element('tr', {}, ...heads.map((text) => element('th', { scope: 'col' }, text)))),
      element(
        'tbody',
        {},
        ...reservations.map((each) => element('tr', {}, ...reservationTexts(each).map((text) => element('td', {}, text)))),
      ),
    ),
  );
}
