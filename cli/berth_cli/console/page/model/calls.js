// Calls of the verbs over time: what is said of them, and where their bars and lines are.

import { formatAge, formatCount } from './quantities.js';

/**
 * @typedef {object} VerbCalls by interval, the oldest first; times in milliseconds
 * @property {number[]} count
 * @property {number[]} median
 * @property {number[]} slowest
 *
 * @typedef {object} CallsDocument
 * @property {number} since where the first interval begins
 * @property {number} seconds the length of each
 * @property {Record<string, VerbCalls>} verbs
 * @property {string} [note] which part of the calls they are
 * @property {string} [problem] why there are none
 *
 * @typedef {object} CallChart bars and lines in a field whose left top is 0, 0
 * @property {string} verb
 * @property {string} text
 * @property {[number, number, number, number][]} bars left, top, width and height of each
 * @property {[number, number][]} median
 * @property {[number, number][]} slowest
 */

/** @param {CallsDocument} calls @param {number} width @param {number} height @returns {CallChart[]} one for each verb */
export function callCharts(calls, width, height) {
  return Object.entries(calls.verbs).map(([verb, found]) => {
    const intervals = found.count.length;
    const step = width / intervals;
    const mostCalls = Math.max(1, ...found.count);
    const mostTime = Math.max(0.001, ...found.slowest);
    const line = (/** @type {number[]} */ values) =>
      values
        .map(
          (value, at) =>
            /** @type {[number, number, number]} */ ([
              (at + 0.5) * step,
              height * (1 - value / mostTime),
              found.count[at],
            ]),
        )
        // Without a call there is no time: the line goes on at the next one.
        .filter(([, , count]) => count > 0)
        .map(([x, y]) => /** @type {[number, number]} */ ([x, y]));
    return {
      verb,
      text: textOf(found, intervals * calls.seconds),
      bars: found.count.map((count, at) => [
        at * step,
        height * (1 - count / mostCalls),
        step,
        (height * count) / mostCalls,
      ]),
      median: line(found.median),
      slowest: line(found.slowest),
    };
  });
}

/** @param {VerbCalls} found @param {number} span seconds */
function textOf(found, span) {
  const total = found.count.reduce((sum, count) => sum + count, 0);
  const last = found.count.findLastIndex((count) => count > 0);
  const rate = total / span;
  const often = `${rate < 1 ? rate.toPrecision(2) : rate.toFixed(1)} a second`;
  const most = Math.max(...found.count);
  return (
    `${formatCount(total, 'call')} in ${formatAge(span)} (${often}; bars, at most ${most}); ` +
    `last median ${found.median[last].toFixed(1)} ms (line), slowest ${Math.max(...found.slowest).toFixed(1)} ms (dashed)`
  );
}
