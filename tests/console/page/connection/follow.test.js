// The page follows the cluster, and begins again whatever the console does.

import assert from 'node:assert/strict';
import test from 'node:test';

import { follow } from '../../../../cli/berth_cli/console/page/connection/follow.js';
import { NoSession, NotAnswered, Refused } from '../../../../cli/berth_cli/console/page/connection/session.js';
import { Cluster } from '../../../../cli/berth_cli/console/page/model/cluster.js';
import { change, nodeTable, podTable } from '../cases.js';
import { ScriptedSession, ScriptedStream, settled } from './scripted.js';

const OVER = new NoSession('over');

/** @param {number} sequence @param {string[]} names */
function nodes(sequence, names) {
  return {
    version: 1,
    sequence,
    counted: [],
    ageSeconds: 1,
    problem: '',
    source: { kind: 'cluster', name: 'c' },
    nodes: nodeTable(names.map((name, id) => ({ id, name }))),
  };
}

/** @param {number} sequence */
const pods = (sequence) => ({ sequence, pods: podTable([]) });

/** Until the session is over; each of the answers ends with that.
 * @param {Record<string, unknown[]>} answers @param {Record<string, (...given: any[]) => void>} [on] */
function following(answers, on = {}) {
  const session = new ScriptedSession(answers);
  const cluster = new Cluster();
  /** @type {string[]} */
  const told = [];
  const listener = /** @type {any} */ (
    new Proxy(
      {},
      {
        get:
          (_, name) =>
          (/** @type {any[]} */ ...given) => {
            told.push([String(name).slice(2), ...given.filter((each) => typeof each === 'string')].join(' '));
            on[String(name)]?.(...given);
          },
      },
    )
  );
  const over = follow('#/overview', cluster, /** @type {any} */ (session), listener, async () => {});
  return { session, cluster, told, over };
}

test('nodes are shown, then pods, then changes', async () => {
  const stream = new ScriptedStream();
  const { cluster, told, over, session } = following({
    '/api/nodes': [nodes(4, ['n1']), OVER],
    '/api/pods': [pods(4)],
    '/api/changes': [stream],
  });
  await settled();
  stream.event('condition', { ageSeconds: 1, problem: '' });
  stream.event('change', change(5, { nodes: [{ id: 9, name: 'n9' }] }));
  await settled();
  assert.deepEqual(told, ['Session', 'Loaded', 'Condition', 'Pods', 'Condition', 'Changed']);
  assert.deepEqual([...cluster.nodes.values()].map(({ name }) => name).sort(), ['n1', 'n9']);
  assert.ok(session.asked.includes('/api/changes?since=4'));
  stream.end();
  await over;
});

test('a token is not lost while the console is away', async () => {
  const { told, over } = following({ open: [new NotAnswered(), true], '/api/nodes': [OVER] });
  await over;
  assert.deepEqual(told, ['Disconnected', 'Session', 'NoSession over']);
});

test('a token that is not taken ends it', async () => {
  const { told, over } = following({ open: [new NoSession('was used before')] });
  await over;
  assert.deepEqual(told, ['NoSession was used before']);
});

for (const [title, failure, wanted] of /** @type {[string, Error, string][]} */ ([
  ['a console that is away', new NotAnswered(), 'Disconnected'],
  [
    'a console that has nothing yet',
    new Refused(503, 'the cluster is being listed'),
    'Waiting the cluster is being listed',
  ],
])) {
  test(`${title} is asked again`, async () => {
    const { told, over } = following({ '/api/nodes': [failure, OVER] });
    await over;
    assert.deepEqual(told, ['Session', wanted, 'NoSession over']);
  });
}

test('the whole state is read again after the console was away', async () => {
  const stream = new ScriptedStream();
  const { cluster, told, over } = following({
    '/api/nodes': [nodes(7, ['old']), new NotAnswered(), nodes(2, ['new']), OVER],
    '/api/pods': [pods(7), pods(2)],
    '/api/changes': [stream, new NotAnswered()],
  });
  await settled();
  stream.end();
  await over;
  assert.deepEqual(
    [...cluster.nodes.values()].map(({ name }) => name),
    ['new'],
  );
  assert.equal(cluster.sequence, 2);
  assert.equal(told.filter((each) => each === 'Loaded').length, 2);
  assert.equal(told.filter((each) => each === 'Disconnected').length, 3);
});

for (const [title, event] of /** @type {[string, [string, any]][]} */ ([
  ['changes that are not kept', ['reset', {}]],
  ['a change that does not follow', ['change', change(9, {})]],
])) {
  test(`after ${title} the whole state is read at once`, async () => {
    const stream = new ScriptedStream();
    // The pods never come: what reads them ends, too.
    const { told, over } = following({ '/api/nodes': [nodes(4, ['n1']), OVER], '/api/changes': [stream] });
    await settled();
    stream.event(event[0], event[1]);
    await over;
    assert.deepEqual(told, ['Session', 'Loaded', 'Condition', 'NoSession over']);
  });
}

test('pods that cannot be read begin everything again', async () => {
  const { told, over } = following({
    '/api/nodes': [nodes(4, ['n1']), OVER],
    '/api/pods': [new Refused(503, 'not yet')],
    '/api/changes': [new ScriptedStream()],
  });
  await over;
  assert.deepEqual(told, ['Session', 'Loaded', 'Condition', 'Waiting not yet', 'NoSession over']);
});

test('documents of another release are not read', async () => {
  const { told, over, cluster } = following({ '/api/nodes': [{ ...nodes(4, ['n1']), version: 2 }] });
  await over;
  assert.deepEqual(told, ['Session', 'OtherRelease']);
  assert.equal(cluster.nodes.size, 0);
});
