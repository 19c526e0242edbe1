// The table beside the map: its texts, its order, and readable amounts.

import assert from 'node:assert/strict';
import test from 'node:test';

import { colourOf, STEPS } from '../../../../cli/berth_cli/console/page/model/colours.js';
import { groupNodes, readNodes } from '../../../../cli/berth_cli/console/page/model/grouping.js';
import { formatAge, formatAmount, formatShare } from '../../../../cli/berth_cli/console/page/model/quantities.js';
import { arranged, groupTable, nodeTable, podTable } from '../../../../cli/berth_cli/console/page/model/rows.js';

const NODES = readNodes([
  { name: 'n10', states: [], labels: { zone: 'a' }, amounts: { cpu: [4000, 1000], pods: [10, 1] } },
  { name: 'n2', states: ['not ready', 'unschedulable'], labels: { zone: 'a' }, amounts: { cpu: [4000, 4000] } },
  { name: 'n1', states: [], labels: {}, amounts: {} },
]);
const BY_NAME = { sort: 'name', order: 'ascending', filter: '' };

test('a group has the sums of its nodes', () => {
  const [group] = groupTable(groupNodes(NODES, 'zone'), 'zone', 'cpu').rows;
  assert.deepEqual(group.texts, ['a', '2', '63 %', '5', '8', '3']);
});

test('a node has its state in words', () => {
  const rows = nodeTable(NODES, 'cpu', '').rows;
  assert.deepEqual(rows[1].texts, ['n2', '100 %', '4', '4', '0', '0', 'not ready, unschedulable']);
  assert.deepEqual(rows[2].texts, ['n1', 'none', '', '', '', '0', 'ready']);
});

test('a row of a pod shows the amount that it requests', () => {
  const named = { namespace: 'default', name: 'web', state: 'on its node', priority: 0, controller: '', gang: '' };
  const pods = [{ ...named, requests: { memory: 1 << 29 } }];
  assert.deepEqual(podTable(pods, 'memory', '').rows[0].texts, ['default/web', '512 Mi', '0', 'on its node', '', '']);
  assert.equal(podTable(pods, 'pods', '').rows[0].texts[1], '1');
});

test('rows are sorted by name or amount, and by name if the column is unknown', () => {
  const table = nodeTable(NODES, 'cpu', '');
  const names = (/** @type {string} */ sort, order = 'ascending') =>
    arranged(table, { ...BY_NAME, sort, order }).map(({ key }) => key);
  assert.deepEqual(names('name'), ['n1', 'n2', 'n10']);
  assert.deepEqual(names('name', 'descending'), ['n10', 'n2', 'n1']);
  assert.deepEqual(names('use'), ['n1', 'n10', 'n2']);
  assert.deepEqual(names('no such column'), names('name'));
});

test('the filter searches every column', () => {
  const found = arranged(nodeTable(NODES, 'cpu', ''), { ...BY_NAME, filter: ' Unsched ' });
  assert.deepEqual(
    found.map(({ key }) => key),
    ['n2'],
  );
});

for (const [resource, amount, text] of /** @type {[string, number, string][]} */ ([
  ['cpu', 1500, '1.5'],
  ['cpu', 1, '0'],
  ['memory', 0, '0'],
  ['memory', 1536 * 1024 * 1024, '1.5 Gi'],
  ['hugepages-2Mi', 2 * 1024 * 1024, '2 Mi'],
  ['memory', -(1 << 30), '-1 Gi'],
  ['nvidia.com/gpu', 1234, '1,234'],
])) {
  test(`${amount} of ${resource} is ${text}`, () => assert.equal(formatAmount(resource, amount), text));
}

test('shares are shown as percentages, and ages in a suitable unit', () => {
  assert.deepEqual([0, 0.555, 1.2, null, Infinity].map(formatShare), ['0 %', '56 %', '120 %', 'none', 'beyond']);
  assert.deepEqual([3, 89.9, 600, 7200, 3 * 86400].map(formatAge), ['3 s', '90 s', '10 min', '2 h', '3 days']);
});

test('each color of the scale is lighter than the previous color', () => {
  const lightness = Array.from({ length: STEPS }, (_, step) => {
    const [red, green, blue] = (colourOf(step / STEPS).match(/\d+/g) ?? []).map(Number);
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
  });
  assert.ok(lightness.every((value, step) => step === 0 || value > lightness[step - 1]));
});

test('a share above 1 has its own color, and a missing resource has no color', () => {
  assert.deepEqual([colourOf(-1), colourOf(1.01), colourOf(null)], [colourOf(0), colourOf(Infinity), '']);
  assert.notEqual(colourOf(1), colourOf(1.01));
});
