// Keeps the cluster up to date: reads it, follows its changes, and begins again when the console was away.

import { readEvents } from './events.js';
import { pause } from './pause.js';
import { NoSession, Refused } from './session.js';

/**
 * @typedef {import('../model/cluster.js').Cluster} Cluster
 * @typedef {import('./session.js').Session} Session
 *
 * @typedef {object} Condition
 * @property {number | null} ageSeconds
 * @property {number | null} [maxStalenessSeconds] verbs call older data stale
 * @property {string} problem
 *
 * @typedef {object} Source
 * @property {string} kind
 * @property {string} name
 *
 * @typedef {object} Listener
 * @property {(isNew: boolean) => void} onSession isNew: a token opened it
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

class OtherRelease extends Error {}

/** @param {string} fragment of the address, which may have a token @param {Cluster} cluster @param {Session} session
 * @param {Listener} listener @param {typeof pause} [wait] @returns {Promise<void>} ends without a session */
export async function follow(fragment, cluster, session, listener, wait = pause) {
  let isOpen = false;
  for (;;) {
    try {
      if (!isOpen) listener.onSession(await session.open(fragment));
      isOpen = true;
      await followOnce(cluster, session, listener);
    } catch (error) {
      if (error instanceof NoSession) return listener.onNoSession(error.message);
      if (error instanceof OtherRelease) return listener.onOtherRelease();
      if (error instanceof Refused) listener.onWaiting(error.message);
      else listener.onDisconnected();
      await wait(WAIT_MS);
    }
  }
}

/** Until the stream ends. @param {Cluster} cluster @param {Session} session @param {Listener} listener */
async function followOnce(cluster, session, listener) {
  const content = await session.document('/api/nodes');
  if (content.version !== VERSION) throw new OtherRelease();
  cluster.loadNodes(content.nodes, content.sequence, content.counted);
  listener.onLoaded(content.source);
  listener.onCondition(content);
  const ending = new AbortController();
  try {
    // Whichever fails first ends the other.
    await Promise.all([
      loadPods(cluster, session, listener, ending.signal),
      followChanges(cluster, session, listener, ending),
    ]);
  } finally {
    ending.abort();
  }
}

/** @param {Cluster} cluster @param {Session} session @param {Listener} listener @param {AbortSignal} signal */
async function loadPods(cluster, session, listener, signal) {
  try {
    const content = await session.document('/api/pods', signal);
    if (signal.aborted) return;
    cluster.loadPods(content.pods, content.sequence);
    listener.onPods();
  } catch (error) {
    if (!signal.aborted) throw error;
  }
}

/** @param {Cluster} cluster @param {Session} session @param {Listener} listener @param {AbortController} ending */
async function followChanges(cluster, session, listener, ending) {
  await readEvents(session, `/api/changes?since=${cluster.sequence}`, ending.signal, (name, content) => {
    if (name === 'condition') listener.onCondition(content);
    // Both begin again: what is missing is not kept by the console.
    else if (name === 'reset' || !cluster.apply(content)) ending.abort();
    else listener.onChanged();
  });
}
