// Decisions come over silences and restarts of the console.

import assert from 'node:assert/strict';
import test from 'node:test';

import { DecisionStream } from '../../../../cli/berth_cli/console/page/connection/decision_stream.js';
import { NotAnswered, Refused } from '../../../../cli/berth_cli/console/page/connection/session.js';
import { ScriptedSession, ScriptedStream, settled } from './scripted.js';

const SILENCE_MS = 20;

/** @param {number[]} numbers */
const decisions = (...numbers) => numbers.map((number) => ({ number }));

/** @param {unknown[]} answers */
function following(...answers) {
  const session = new ScriptedSession({ '/api/decisions': answers });
  /** @type {number[]} */
  const waits = [];
  const stream = new DecisionStream(
    /** @type {any} */ (session),
    () => {},
    async (pause) => void waits.push(pause),
    SILENCE_MS,
  );
  const followed = () => {
    const ending = new AbortController();
    stream.follow(ending.signal);
    return ending;
  };
  return {
    stream,
    session,
    waits,
    ending: followed(),
    followed,
    numbers: () => stream.decisions.map(({ number }) => number),
  };
}

/** @param {ScriptedSession} session @param {number} count */
async function askedTimes(session, count) {
  while (session.asked.length < count) await settled();
}

test('decisions are joined as they come', async () => {
  const events = new ScriptedStream();
  const { numbers, ending } = following(events);
  await settled();
  events.event('decisions', decisions(1, 2));
  events.event('decisions', decisions(3));
  await settled();
  assert.deepEqual(numbers(), [1, 2, 3]);
  ending.abort();
});

test('after a silence it goes on where it was', async () => {
  const [before, after] = [new ScriptedStream(), new ScriptedStream()];
  const { session, numbers, ending } = following(before, after);
  await settled();
  before.event('decisions', decisions(1, 2));
  await askedTimes(session, 2);
  assert.deepEqual(session.asked, ['/api/decisions?since=0', '/api/decisions?since=2']);
  after.event('decisions', decisions(3));
  await settled();
  assert.deepEqual(numbers(), [1, 2, 3]);
  ending.abort();
});

test('those of another process replace what was shown, once it has said any', async () => {
  const [before, after] = [new ScriptedStream(), new ScriptedStream()];
  const { session, numbers, ending } = following(before, new NotAnswered(), after);
  await settled();
  before.event('decisions', decisions(7, 8));
  await settled();
  before.end();
  await askedTimes(session, 3);
  assert.deepEqual(session.asked.slice(1), ['/api/decisions?since=0', '/api/decisions?since=0']);
  assert.deepEqual(numbers(), [7, 8]);
  after.event('decisions', decisions(1));
  await settled();
  assert.deepEqual(numbers(), [1]);
  ending.abort();
});

test('why they cannot be read is told until they can be', async () => {
  const events = new ScriptedStream();
  const { stream, numbers, ending } = following(events);
  await settled();
  events.event('problem', { reason: 'connection refused' });
  await settled();
  assert.equal(stream.problem, 'connection refused');
  events.event('decisions', decisions(1));
  await settled();
  assert.deepEqual([stream.problem, numbers()], ['', [1]]);
  ending.abort();
});

test('a console without decisions says so, and is asked again: it may be started anew', async () => {
  const events = new ScriptedStream();
  const { stream, session, waits, numbers, ending } = following(new Refused(404, 'there is no such path'), events);
  await askedTimes(session, 2);
  assert.match(stream.problem, /berth serve with --console/);
  assert.deepEqual(waits, [10_000]);
  events.event('decisions', decisions(1));
  await settled();
  assert.deepEqual([stream.problem, numbers()], ['', [1]]);
  ending.abort();
});

test('nothing is asked when the view is left', async () => {
  const { session, ending } = following(new ScriptedStream(), new ScriptedStream());
  await settled();
  ending.abort();
  await settled();
  assert.equal(session.asked.length, 1);
});

test('when the view is shown again, those of a process that has ended since are replaced', async () => {
  const [before, after] = [new ScriptedStream(), new ScriptedStream()];
  const { session, numbers, ending, followed } = following(before, after);
  await settled();
  before.event('decisions', decisions(4, 5));
  await settled();
  ending.abort();
  const again = followed();
  await settled();
  assert.deepEqual(session.asked, ['/api/decisions?since=0', '/api/decisions?since=0']);
  assert.deepEqual(numbers(), [4, 5]);
  after.event('decisions', decisions(1, 2));
  after.event('decisions', decisions(3));
  await settled();
  assert.deepEqual(numbers(), [1, 2, 3]);
  again.abort();
});
