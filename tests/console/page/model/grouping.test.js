// Groups, labels to group by, and use.

import assert from 'node:assert/strict';
import test from 'node:test';

import {
  compareNames,
  groupNodes,
  groupingLabels,
  NO_GROUPS,
  poolOf,
  readNodes,
  resourcesOf,
  shortener,
  useOf,
} from '../../../../cli/berth_cli/console/page/model/grouping.js';

/** @param {Record<string, string>[]} labels */
function labelled(...labels) {
  return readNodes(labels.map((each, id) => ({ name: `n${id}`, labels: each, amounts: {} })));
}

/** @param {...Record<string, [number, number]>} amounts */
function using(...amounts) {
  return readNodes(amounts.map((each, id) => ({ name: `n${id}`, labels: {}, amounts: each })));
}

test('numbers in names are ordered as numbers', () => {
  assert.deepEqual(['n10', 'n2', 'n1'].sort(compareNames), ['n1', 'n2', 'n10']);
});

test('nodes without the label are the last group', () => {
  const groups = groupNodes(labelled({}, { zone: 'b' }, { zone: 'a' }, { zone: '' }), 'zone');
  assert.deepEqual(
    groups.map(({ value }) => value),
    ['', 'a', 'b', null],
  );
});

test('without a label all nodes are one group', () => {
  assert.deepEqual(
    groupNodes(labelled({}, {}), NO_GROUPS).map(({ nodes }) => nodes.length),
    [2],
  );
});

test('labels with a different value on every node are not offered for grouping', () => {
  const nodes = labelled(...['1', '2', '3'].map((host) => ({ 'kubernetes.io/hostname': host, pool: 'x' })));
  assert.deepEqual(groupingLabels(nodes), ['pool']);
});

test('well-known labels come first, then those with few values', () => {
  const nodes = labelled(
    ...['1', '2', '3'].map((at) => ({
      many: String(Number(at) % 2),
      one: 'x',
      'node.kubernetes.io/instance-type': 'm',
      'topology.kubernetes.io/zone': at === '1' ? 'a' : 'b',
    })),
  );
  assert.deepEqual(groupingLabels(nodes), [
    'topology.kubernetes.io/zone',
    'node.kubernetes.io/instance-type',
    'one',
    'many',
  ]);
});

test('common resources come first, then counted ones', () => {
  const nodes = using({ zebra: [1, 0], memory: [1, 0], 'example.com/licence': [1, 0], cpu: [1, 0] });
  assert.deepEqual(resourcesOf(nodes, ['example.com/licence', 'unused']), [
    'cpu',
    'memory',
    'example.com/licence',
    'unused',
    'zebra',
  ]);
});

for (const [name, amount, share] of /** @type {[string, Record<string, [number, number]>, number | null][]} */ ([
  ['half in use', { cpu: [1000, 500] }, 0.5],
  ['more in use than allocatable', { cpu: [1000, 1500] }, 1.5],
  ['the node does not have the resource', {}, null],
  ['nothing allocatable and nothing used', { cpu: [0, 0] }, null],
  ['nothing allocatable but used', { cpu: [0, 5] }, Infinity],
])) {
  test(`the share of a node is ${share}: ${name}`, () => assert.equal(useOf(using(amount), 'cpu').share, share));
}

test('the share of a group weights each node by its allocatable amount', () => {
  assert.equal(useOf(using({ cpu: [1000, 1000] }, { cpu: [3000, 0] }, {}), 'cpu').share, 0.25);
});

test('a label named __proto__ is read, and properties of objects are not labels', () => {
  const [node] = readNodes(JSON.parse('[{"name": "n", "labels": {"__proto__": "x"}, "amounts": {}}]'));
  assert.deepEqual([node.labels.get('__proto__'), node.labels.get('constructor')], ['x', undefined]);
});

test('names that differ only at the end are cut in the middle', () => {
  const cases = [
    [
      ['eu-central-1a', 'eu-central-1b'],
      ['eu-c…1a', 'eu-c…1b'],
    ],
    [
      ['us-east1-b', 'us-east1-c', 'us-east1-d'],
      ['us-e…b', 'us-e…c', 'us-e…d'],
    ],
    // Cutting would not make these names shorter.
    [
      ['gpu-1', 'gpu-2'],
      ['gpu-1', 'gpu-2'],
    ],
    [
      ['eu-central-1a', 'us-east-1a'],
      ['eu-central-1a', 'us-east-1a'],
    ],
    [['eu-central-1a'], ['eu-central-1a']],
    [
      ['long-names', 'long-names-too'],
      ['long-names', 'long-names-too'],
    ],
    [[], []],
  ];
  for (const [names, short] of cases) assert.deepEqual(names.map(shortener(names)), short);
});

test('a node shows its pool, or its instance type if it has no pool', () => {
  const type = { 'node.kubernetes.io/instance-type': 'm5.large' };
  /** @type {[Record<string, string>, string][]} */
  const cases = [
    [{ ...type, 'karpenter.sh/nodepool': 'spot' }, 'nodepool: spot'],
    [{ ...type, 'eks.amazonaws.com/nodegroup': 'workers' }, 'nodegroup: workers'],
    [{ 'cloud.google.com/gke-nodepool': 'a' }, 'gke-nodepool: a'],
    [{ 'kubernetes.azure.com/agentpool': 'b' }, 'agentpool: b'],
    [type, 'instance-type: m5.large'],
    [{}, ''],
  ];
  for (const [labels, text] of cases) assert.equal(poolOf(labelled(labels)[0]), text);
});
