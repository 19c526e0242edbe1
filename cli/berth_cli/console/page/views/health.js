// Health: the node cache, its leader, what is published, reservations and gangs; the age of the data and the calls over
// time.

import { Polling } from '../connection/polling.js';
import { callCharts } from '../model/calls.js';
import { ageLine, changeBars, factGroups, reservationTexts } from '../model/health.js';
import { formatAge } from '../model/quantities.js';
import { chart, HEIGHT, WIDTH } from './elements/charts.js';
import { element, placeOf } from './elements/dom.js';
import { row, scrolled, table } from './elements/tables.js';

/**
 * @typedef {import('../model/health.js').HealthDocument} HealthDocument
 * @typedef {import('../connection/session.js').Session} Session
 */

const PAUSE_MS = 2000;

export class Health {
  /** @param {Document} page @param {Session} session */
  constructor(page, session) {
    this.facts = placeOf(page, 'health-content');
    this.charts = placeOf(page, 'health-charts');
    this.reservations = placeOf(page, 'health-reservations');
    this.reservationsDrawn = '';
    /** @type {HealthDocument | null} */
    this.found = null;
    this.polling = new Polling(session, {
      pauseMs: PAUSE_MS,
      isPeriodic: true,
      onAnswer: (found) => this.draw(found),
      onProblem: (problem) => this.facts.replaceChildren(element('p', { class: 'problem' }, problem)),
    });
  }

  /** @param {boolean} isShown */
  show(isShown) {
    this.polling.ask(isShown ? '/api/health' : '');
  }

  /** @param {HealthDocument} found */
  draw(found) {
    this.found = found;
    this.facts.replaceChildren(
      ...factGroups(found).map(({ title, problem, facts }) =>
        element(
          'section',
          { class: 'card' },
          element('h3', {}, title),
          problem ? element('p', { class: 'problem' }, problem) : null,
          element('dl', {}, ...facts.flatMap(([name, value]) => [element('dt', {}, name), element('dd', {}, value)])),
        ),
      ),
    );
    this.drawCharts();
    this.drawReservations(found.reservations?.reservations ?? []);
  }

  /** In the colours of the screen, or of the paper that the page is printed on. */
  drawCharts() {
    const { found } = this;
    if (!found) return;
    this.charts.replaceChildren(
      ...(found.samples.length > 1 ? [ageChart(found)] : []),
      ...(found.calls ? callCharts(found.calls, WIDTH, HEIGHT) : []).map(({ verb, text, bars, median, slowest }) =>
        chart(
          verb,
          text,
          [
            { points: median, colour: '--accent' },
            { points: slowest, colour: '--warn', isDashed: true },
          ],
          bars,
        ),
      ),
    );
  }

  /** Only where something changed, so that the focus and the place in the list stay.
   * @param {Record<string, any>[]} reservations */
  drawReservations(reservations) {
    const drawn = JSON.stringify(reservations);
    if (drawn === this.reservationsDrawn) return;
    this.reservationsDrawn = drawn;
    const rows = reservations.map((each) => row(reservationTexts(each)));
    this.reservations.replaceChildren(
      ...(rows.length ? [scrolled('Reservations', table(['Pod', 'Node', 'State', 'Holds', 'Why'], rows))] : []),
    );
  }
}

/** @param {HealthDocument} found */
function ageChart(found) {
  const { points, most } = ageLine(found.samples, WIDTH, HEIGHT);
  const last = found.samples.at(-1)?.[1] ?? 0;
  const span = (found.samples.at(-1)?.[0] ?? 0) - found.samples[0][0];
  const { bars, text: changes } = changeBars(found.samples, WIDTH, HEIGHT);
  const text = `over the last ${formatAge(span)}: now ${last.toFixed(1)} s, at most ${most.toFixed(1)} s (line); ${changes}`;
  return chart('Age of the data', text, [{ points, colour: '--accent' }], bars);
}
