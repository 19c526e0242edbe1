// A stream of events: its events, its end, and its silence.

import assert from 'node:assert/strict';
import test from 'node:test';

import { readEvents, Silence } from '../../../../cli/berth_cli/console/page/connection/events.js';
import { ScriptedSession, ScriptedStream, settled } from './scripted.js';

/** @param {ScriptedStream | Error | null} stream null: the console takes the connection and says nothing
 * @param {number} [silenceMs] */
function read(stream, silenceMs) {
  /** @type {[string, any][]} */
  const events = [];
  const ending = new AbortController();
  const session = /** @type {any} */ (new ScriptedSession({ '/s': stream ? [stream] : [] }));
  const over = readEvents(session, '/s', ending.signal, (name, content) => events.push([name, content]), silenceMs);
  return { events, ending, over };
}

test('events come as they are sent', async () => {
  const stream = new ScriptedStream();
  const { events, ending, over } = read(stream);
  stream.event('change', { a: 1 });
  await settled();
  assert.deepEqual(events, [['change', { a: 1 }]]);
  ending.abort();
  await over;
});

test('a stream that ends is an error', async () => {
  const stream = new ScriptedStream();
  const { over } = read(stream);
  stream.end();
  await assert.rejects(over, /ended/);
});

test('a stream that cannot begin says why', async () => {
  await assert.rejects(read(new Error('no')).over, /no/);
});

for (const [title, stream] of /** @type {[string, ScriptedStream | null][]} */ ([
  ['a stream without events', new ScriptedStream()],
  ['a console that hangs', null],
])) {
  test(`${title} is silent`, async () => assert.rejects(read(stream, 20).over, Silence));
}

test('a comment is no event, and no silence', async () => {
  const stream = new ScriptedStream();
  const { events, ending, over } = read(stream, 60);
  for (let sent = 0; sent < 10; sent += 1) {
    stream.send(': idle\n\n');
    await new Promise((resolve) => {
      setTimeout(resolve, 15);
    });
  }
  assert.deepEqual(events, []);
  ending.abort();
  await over;
});

test('nothing comes after the end', async () => {
  const stream = new ScriptedStream();
  const { events, ending, over } = read(stream);
  await settled();
  ending.abort();
  await over;
  assert.deepEqual(events, []);
});
