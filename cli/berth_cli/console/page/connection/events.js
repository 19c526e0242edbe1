// A stream of server-sent events. EventSource cannot send the session's key, so the page reads it with fetch.

import { EventParser } from './event_parser.js';

/** @typedef {import('./session.js').Session} Session */

/** The console sends something at least every 15 s, if only a comment. */
const SILENCE_MS = 20_000;

/** Nothing came for too long: the console hangs, or the connection is dead. */
export class Silence extends Error {}

/** Until the signal ends it. Throws when the stream ends or is silent for too long, as `session.get` does when it
 * cannot begin. @param {Session} session @param {string} path @param {AbortSignal} signal
 * @param {(name: string, content: any) => void} onEvent @param {number} [silenceMs] */
export async function readEvents(session, path, signal, onEvent, silenceMs = SILENCE_MS) {
  const silence = new AbortController();
  const again = () => setTimeout(() => silence.abort(), silenceMs);
  let timer = again();
  try {
    const answer = await session.get(path, AbortSignal.any([signal, silence.signal]));
    if (!answer.body) throw new Error('the stream is empty');
    const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
    const parser = new EventParser();
    for (;;) {
      const { done, value } = await reader.read();
      clearTimeout(timer);
      timer = again();
      if (done) throw new Error('the stream ended');
      for (const { name, data } of parser.push(value)) {
        onEvent(name, JSON.parse(data));
        if (signal.aborted) return;
      }
    }
  } catch (error) {
    if (signal.aborted) return;
    throw silence.signal.aborted ? new Silence('the console is silent') : error;
  } finally {
    clearTimeout(timer);
    silence.abort();
  }
}
