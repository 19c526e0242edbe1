// What a second policy would place elsewhere: the server's document, and the rows of the table.

/**
 * @typedef {import('./rows.js').Table} Table
 *
 * @typedef {object} PolicyDocument
 * @property {string} inForce
 * @property {string} fallback
 * @property {{name: string, text: string} | null} second
 *
 * @typedef {object} Place
 * @property {string} state
 * @property {string | null} node
 *
 * @typedef {object} PolicyDiff
 * @property {string} headline
 * @property {number} judged
 * @property {number} left
 * @property {{namespace: string, name: string, effect: string, before: Place, after: Place}[]} pods
 * @property {string[]} messages why each of them goes elsewhere
 */

/** @param {Place} place */
function placeText(place) {
  return place.node ?? place.state;
}

/** @param {PolicyDiff} diff */
export function summaryOf(diff) {
  const left = diff.left ? `; ${diff.left} more were not placed` : '';
  return `${diff.judged} pending pods placed by both: ${diff.headline}${left}`;
}

/** @param {PolicyDiff} diff @returns {Table} */
export function diffTable(diff) {
  const column = (/** @type {string} */ key, /** @type {string} */ title, isWide = false) => ({ key, title, isNumber: false, isWide });
  return {
    caption: 'Pods that the second policy places elsewhere',
    columns: [column('name', 'Pod'), column('effect', 'Effect', true), column('before', 'In force'), column('after', 'Second'), column('why', 'Why', true)],
    rows: diff.pods.map((each, at) => {
      const texts = [`${each.namespace}/${each.name}`, each.effect, placeText(each.before), placeText(each.after), diff.messages[at]];
      return { key: texts[0], texts, values: texts, share: null };
    }),
  };
}
