// The cluster of the page: what it reads, and that a change leads to the same as reading everything.

import assert from 'node:assert/strict';
import test from 'node:test';

import { Cluster } from '../../../../cli/berth_cli/console/page/model/cluster.js';
import { change, nodeTable, podTable } from '../cases.js';

const NODES = [
  {
    id: 0,
    name: 'n1',
    labels: { zone: 'a' },
    amounts: { cpu: /** @type {[number, number]} */ ([4000, 500]) },
    taints: ['x:NoSchedule'],
  },
  { id: 1, name: 'n2' },
];
const PODS = [
  { id: 5, name: 'p1', node: 0, requests: { cpu: 500 } },
  { id: 6, name: 'p2', node: 0 },
];

function loaded() {
  const cluster = new Cluster();
  cluster.loadNodes(nodeTable(NODES), 1, []);
  cluster.loadPods(podTable(PODS), 1);
  return cluster;
}

test('reads labels, taints and amounts of each node', () => {
  const [first, second] = loaded().nodes.values();
  assert.deepEqual([...first.labels], [['zone', 'a']]);
  assert.deepEqual(first.taints, ['x:NoSchedule']);
  assert.deepEqual(first.amounts.get('cpu'), { allocatable: 4000, used: 500 });
  assert.equal(second.labels.size + second.taints.length + second.amounts.size, 0);
});

test('finds the pods of a node', () => {
  const cluster = loaded();
  assert.deepEqual(
    cluster.podsOf(0).map(({ name }) => name),
    ['p1', 'p2'],
  );
  assert.equal(cluster.podsOf(0)[0].requests.get('cpu'), 500);
  assert.deepEqual(cluster.podsOf(1), []);
});

test('a pod that moves leaves its old node', () => {
  const cluster = loaded();
  assert.equal(cluster.apply(change(2, { pods: [{ id: 5, name: 'p1', node: 1 }] })), true);
  assert.deepEqual(
    cluster.podsOf(0).map(({ name }) => name),
    ['p2'],
  );
  assert.deepEqual(
    cluster.podsOf(1).map(({ name }) => name),
    ['p1'],
  );
});

test('what is gone is gone', () => {
  const cluster = loaded();
  cluster.apply(change(2, { nodesGone: [1], podsGone: [5, 6] }));
  assert.deepEqual([...cluster.nodes.keys()], [0]);
  assert.equal(cluster.pods.size, 0);
  assert.equal(cluster.podsByNode.size, 0);
});

test('refuses a change that does not follow', () => {
  const cluster = loaded();
  assert.equal(cluster.apply(change(3, { nodesGone: [0] })), false);
  assert.equal(cluster.nodes.size, 2);
});

test('changes that come before the pods are applied to them later', () => {
  const cluster = new Cluster();
  cluster.loadNodes(nodeTable(NODES), 1, []);
  cluster.apply(change(2, { podsGone: [6] }));
  cluster.apply(change(3, { pods: [{ id: 7, name: 'p3', node: 1 }] }));
  cluster.loadPods(podTable(PODS), 1);
  assert.deepEqual([...cluster.pods.keys()], [5, 7]);
});

test('changes that the pods have already are not applied again', () => {
  const cluster = new Cluster();
  cluster.loadNodes(nodeTable(NODES), 1, []);
  cluster.apply(change(2, { pods: [{ id: 5, name: 'older', node: 1 }] }));
  cluster.loadPods(podTable(PODS), 2);
  assert.equal(cluster.pods.get(5)?.name, 'p1');
});

test('random changes lead to what reading everything shows', () => {
  let seed = 7;
  const chance = (/** @type {number} */ below) => {
    seed = (seed * 1103515245 + 12345) % 2147483648;
    return Math.floor((seed / 2147483648) * below);
  };
  const cluster = new Cluster();
  cluster.loadNodes(nodeTable([]), 1, []);
  cluster.loadPods(podTable([]), 1);
  /** @type {Map<number, {id: number, name: string, node: number}>} */
  const pods = new Map();
  for (let sequence = 2; sequence < 300; sequence += 1) {
    const id = chance(20);
    const pod = { id, name: `p${id}.${sequence}`, node: chance(4) };
    const isGone = chance(3) === 0;
    if (isGone) pods.delete(id);
    else pods.set(id, pod);
    assert.equal(cluster.apply(change(sequence, isGone ? { podsGone: [id] } : { pods: [pod] })), true);
    const fresh = new Cluster();
    fresh.loadNodes(nodeTable([]), 1, []);
    fresh.loadPods(podTable([...pods.values()]), 1);
    for (let node = 0; node < 4; node += 1) {
      const names = (/** @type {Cluster} */ each) =>
        each
          .podsOf(node)
          .map(({ name }) => name)
          .sort();
      assert.deepEqual(names(cluster), names(fresh));
    }
  }
});
