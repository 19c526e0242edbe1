// Which nodes stand out on the map.

import assert from 'node:assert/strict';
import test from 'node:test';

import { Highlight } from '../../../../cli/berth_cli/console/page/views/highlight.js';

/** @typedef {(highlight: Highlight) => void} Step */

/** @type {Record<string, Step>} */
const STEPS = {
  list: (highlight) => highlight.point('list', ['n1']),
  'list with other nodes': (highlight) => highlight.point('list', ['n2']),
  'list no more': (highlight) => highlight.point('list', null),
  explanation: (highlight) => highlight.point('explanation', ['n3']),
  'explanation no more': (highlight) => highlight.point('explanation', null),
  chosen: (highlight) => highlight.choose(['n4']),
  'another view': (highlight) => highlight.clear(),
};

for (const [steps, wanted] of /** @type {[string[], string[] | null][]} */ ([
  [['list'], ['n1']],
  [['list', 'list no more'], null],
  // The rows of another place were drawn again: that does not change the highlight of this place.
  [['list', 'explanation no more'], ['n1']],
  [['list', 'explanation'], ['n3']],
  // The list was drawn again while its reason has the focus and the pointer is elsewhere.
  [['list', 'explanation', 'list with other nodes'], ['n3']],
  [['list', 'explanation', 'list with other nodes', 'explanation no more'], ['n2']],
  [['chosen'], ['n4']],
  [['chosen', 'list'], ['n1']],
  [['chosen', 'list', 'list no more'], ['n4']],
  [['chosen', 'list', 'another view'], null],
])) {
  test(`${steps.join(', ')}: highlights ${wanted?.join() ?? 'nothing'}`, () => {
    /** @type {ReadonlySet<string> | null} */
    let lit = null;
    const highlight = new Highlight((names) => (lit = names));
    for (const step of steps) STEPS[step](highlight);
    assert.deepEqual(lit && [...lit], wanted);
  });
}
