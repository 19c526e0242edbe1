// The facts of the health view, in groups, and the points of its line.

import { formatAge, formatAmount, formatCount } from './quantities.js';

/**
 * @typedef {object} HealthDocument
 * @property {{sequence: number, ageSeconds: number | null, problem: string}} console
 * @property {Record<string, any>} [cache] what /healthz answers
 * @property {Record<string, any> | null} [published]
 * @property {Record<string, any> | null} [leader]
 * @property {Record<string, any> | null} [reservations]
 * @property {{problem?: string, count?: number, open?: string | null, states?: Record<string, number>}} [gangs]
 * @property {import('./calls.js').CallsDocument} [calls]
 * @property {[number, number, number][]} samples time, age of the data, number of changes
 *
 * @typedef {object} FactGroup
 * @property {string} title
 * @property {string} problem
 * @property {[string, string][]} facts
 */

/** @param {unknown} seconds */
function age(seconds) {
  return typeof seconds === 'number' ? `${formatAge(seconds)} ago` : 'never';
}

/** @param {unknown} size */
function bytes(size) {
  return typeof size === 'number' ? formatAmount('memory', size) : 'none';
}

/** @param {HealthDocument} found @returns {FactGroup[]} */
export function factGroups(found) {
  const { cache, published, leader, reservations, gangs, calls } = found;
  /** @type {FactGroup[]} */
  const groups = [
    {
      title: 'This console',
      problem: found.console.problem,
      facts: [
        ['data observed', age(found.console.ageSeconds)],
        ['changes seen', String(Math.max(0, found.console.sequence - 1))],
      ],
    },
  ];
  if (cache) groups.push(...installation(cache, published, leader, reservations));
  if (gangs) {
    groups.push({
      title: 'Gangs',
      problem: gangs.problem ?? '',
      facts: gangs.problem
        ? []
        : [
            ['all', String(gangs.count ?? 0)],
            ['being placed', gangs.open ?? 'none'],
            ...Object.entries(gangs.states ?? {}).map(
              ([state, count]) => /** @type {[string, string]} */ ([state, String(count)]),
            ),
          ],
    });
  }
  if (calls?.problem || calls?.note) {
    groups.push({ title: 'Calls', problem: calls.problem ?? '', facts: calls.note ? [['charts', calls.note]] : [] });
  }
  return groups;
}

/** @param {Record<string, any>} cache @param {HealthDocument['published']} published
 * @param {HealthDocument['leader']} leader @param {HealthDocument['reservations']} reservations @returns {FactGroup[]} */
function installation(cache, published, leader, reservations) {
  /** @type {FactGroup[]} */
  const groups = [];
  groups.push({
    title: 'Node cache',
    problem: cache.reason ?? cache.configurationFallback ?? cache.pluginDifference ?? '',
    facts: [
      ['status', String(cache.status)],
      ['data observed', age(cache.observedAgeSeconds)],
      ['last publication', age(cache.heartbeatAgeSeconds)],
      [
        'verbs refuse data older than',
        typeof cache.maxStalenessSeconds === 'number' ? formatAge(cache.maxStalenessSeconds) : '',
      ],
      ['configuration', String(cache.configurationHash || 'as deployed')],
      ['written by release', String(cache.writerVersion ?? '')],
    ],
  });
  // A server that runs elsewhere does not say its leader.
  if (leader !== undefined) {
    groups.push({
      title: 'Leader',
      problem:
        leader?.problem ??
        (leader ? (leader.holder ? '' : 'the lease is free: no watcher runs') : 'there is no lease yet'),
      facts: leader?.holder
        ? [
            ['holder', leader.holder],
            ['lease renewed', age(leader.renewedSecondsAgo)],
            ['lease lasts', formatAge(leader.leaseDurationSeconds)],
            ['changes of leader', String(leader.transitions)],
          ]
        : [],
    });
  }
  if (published) {
    groups.push({
      title: 'Published',
      problem: published.problem ?? '',
      facts: published.problem
        ? []
        : [
            ['version', String(published.version)],
            ['last publication', age(published.heartbeatAgeSeconds)],
            ['log since the snapshot', bytes(published.logBytes)],
            ['snapshot', `${bytes(published.snapshotBytes)}, ${age(published.snapshotAgeSeconds)}`],
            ...Object.entries(published.resources ?? {}).map(
              ([name, each]) =>
                /** @type {[string, string]} */ ([
                  name,
                  `observed ${age(each.ageSeconds)}, listed ${age(each.listedAgeSeconds)}`,
                ]),
            ),
          ],
    });
  }
  if (reservations) {
    groups.push({
      title: 'Reservations',
      problem: reservations.problem ?? '',
      facts: reservations.problem
        ? []
        : [
            ['all', String(reservations.count)],
            ['being bound', String(reservations.open)],
            ['nodes whose reservations exceed their capacity', String(reservations.owed)],
            ['nodes being rebuilt', String(reservations.rebuilding)],
          ],
    });
  }
  return groups;
}

/** The points of a line in a field of this size, the oldest at the left; and the greatest value.
 * @param {HealthDocument['samples']} samples @param {number} width @param {number} height
 * @returns {{points: [number, number][], most: number}} */
export function ageLine(samples, width, height) {
  const most = Math.max(1, ...samples.map(([, value]) => value));
  const first = samples[0]?.[0] ?? 0;
  const span = Math.max(1, (samples.at(-1)?.[0] ?? 0) - first);
  return {
    most,
    points: samples.map(([time, value]) => [((time - first) / span) * width, height - (value / most) * height]),
  };
}

/** The changes that came from one sample to the next, beside the most in a second; and what is said of them.
 * @param {HealthDocument['samples']} samples at least two @param {number} width @param {number} height
 * @returns {{bars: [number, number, number, number][], text: string}} left, top, width and height of each */
export function changeBars(samples, width, height) {
  const [first] = samples[0];
  const span = Math.max(1, (samples.at(-1)?.[0] ?? 0) - first);
  const parts = samples.slice(1).map(([time, , changes], at) => {
    const [before, , known] = samples[at];
    return { from: before, seconds: Math.max(0.1, time - before), count: Math.max(0, changes - known) };
  });
  const most = Math.max(0, ...parts.map(({ count, seconds }) => count / seconds));
  const total = parts.reduce((sum, { count }) => sum + count, 0);
  return {
    bars: parts
      .filter(({ count }) => count > 0)
      .map(({ from, seconds, count }) => {
        const high = (height * count) / seconds / most;
        return [((from - first) / span) * width, height - high, (seconds / span) * width, high];
      }),
    text: `${formatCount(total, 'change')}${total ? ` (bars, at most ${most.toFixed(1)} a second)` : ''}`,
  };
}

/** @param {Record<string, any>} each a reservation */
export function reservationTexts(each) {
  const holds = Object.entries(each.holds).map(([pool, amount]) => `${amount} ${pool}`);
  return [each.pod, each.node, each.state, holds.join(', '), each.why].map(String);
}
