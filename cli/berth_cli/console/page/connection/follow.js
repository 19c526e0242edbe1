// Keeps the cluster up to date: reads it, follows its changes, and begins again when the console was away.

import { EventParser } from './event_parser.js';
import { pause } from './pause.js';
import { NoSession, Refused } from './session.js';

/**
 * @typedef {import('../model/cluster.js').Cluster} Cluster
 * @typedef {import('./session.js').Session} Session
 *
 * @typedef {object} Condition
 * @property {number | null} ageSeconds
 * @property {string} problem
 *
 * @typedef {object} Source
 * @property {string} kind
 * @property {string} name
 *
 * @typedef {object} Listener
 * @property {(source: Source) => void} onLoaded nodes are there
 * @property {() => void} onPods pods are there too
 * @property {() => void} onChanged
 * @property {(condition: Condition) => void} onCondition
 * @property {(reason: string) => void} onWaiting the console has nothing yet
 * @property {() => void} onDisconnected the console does not answer
 * @property {(reason: string) => void} onNoSession nothing more is tried
 * @property {() => void} onOtherRelease the console is of another release than this page
 */

const VERSION = 1;
const WAIT_MS = 1000;
/** The console tells its condition every 5 s. */
const SILENCE_MS = 20_000;

class OtherRelease extends Error {}

/** @param {Cluster} cluster @param {Session} session @param {Listener} listener @returns {Promise<void>} ends without
 * a session */
export async function follow(cluster, session, listener) {
  for (;;) {
    try {
      await followOnce(cluster, session, listener);
    } catch (error) {
      if (error instanceof NoSession) return listener.onNoSession(error.message);
      if (error instanceof OtherRelease) return listener.onOtherRelease();
      if (error instanceof Refused) listener.onWaiting(error.message);
      else listener.onDisconnected();
      await pause(WAIT_MS);
    }
  }
}

/** Until the stream ends. @param {Cluster} cluster @param {Session} session @param {Listener} listener */
async function followOnce(cluster, session, listener) {
  const content = await (await session.get('/api/nodes')).json();
  if (content.version !== VERSION) throw new OtherRelease();
  cluster.loadNodes(content.nodes, content.sequence, content.counted);
  listener.onLoaded(content.source);
  listener.onCondition(content);
  const ending = new AbortController();
  try {
    // Whichever fails first ends the other.
    await Promise.all([
      loadPods(cluster, session, listener, ending.signal),
      stream(cluster, session, listener, ending),
    ]);
  } finally {
    ending.abort();
  }
}

/** @param {Cluster} cluster @param {Session} session @param {Listener} listener @param {AbortSignal} signal */
async function loadPods(cluster, session, listener, signal) {
  const content = await (await session.get('/api/pods', signal)).json();
  cluster.loadPods(content.pods, content.sequence);
  listener.onPods();
}

/** @param {Cluster} cluster @param {Session} session @param {Listener} listener @param {AbortController} ending */
async function stream(cluster, session, listener, ending) {
  await readEvents(session, `/api/changes?since=${cluster.sequence}`, ending, (name, content) => {
    if (name === 'condition') listener.onCondition(content);
    // Both begin again: what is missing is not kept by the console.
    else if (name === 'reset' || !cluster.apply(content)) ending.abort();
    else listener.onChanged();
  });
}

/** Until it is aborted. Throws when the stream ends or is silent for too long.
 * @param {Session} session @param {string} path @param {AbortController} ending
 * @param {(name: string, content: any) => void} onEvent @param {number} [silenceMs] */
export async function readEvents(session, path, ending, onEvent, silenceMs = SILENCE_MS) {
  const answer = await session.get(path, ending.signal);
  if (!answer.body) return;
  const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
  const parser = new EventParser();
  while (!ending.signal.aborted) {
    const silence = setTimeout(() => ending.abort(), silenceMs);
    const { done, value } = await reader.read().finally(() => clearTimeout(silence));
    if (done) throw new Error('the stream ended');
    for (const event of parser.push(value)) {
      onEvent(event.name, JSON.parse(event.data));
      if (ending.signal.aborted) return;
    }
  }
}
