// Server-sent events, however their text is cut into pieces.

import assert from 'node:assert/strict';
import test from 'node:test';

import { EventParser } from '../../../../cli/berth_cli/console/page/connection/event_parser.js';

const TEXT = 'event: change\ndata: {"a": 1}\n\n: a comment\n\nevent: condition\ndata: x\ndata: y\n\ndata:z\n\n';
const EVENTS = [
  { name: 'change', data: '{"a": 1}' },
  { name: 'condition', data: 'x\ny' },
  { name: 'message', data: 'z' },
];

test('reads whole text', () => assert.deepEqual(new EventParser().push(TEXT), EVENTS));

test('reads it cut at any place', () => {
  for (let cut = 0; cut <= TEXT.length; cut += 1) {
    const parser = new EventParser();
    assert.deepEqual([...parser.push(TEXT.slice(0, cut)), ...parser.push(TEXT.slice(cut))], EVENTS);
  }
});

test('reads it character by character', () => {
  const parser = new EventParser();
  assert.deepEqual(
    [...TEXT].flatMap((character) => parser.push(character)),
    EVENTS,
  );
});

test('an event without its end is not told', () => {
  assert.deepEqual(new EventParser().push('event: change\ndata: {'), []);
});
