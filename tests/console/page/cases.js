// Tables as the server writes them, for tests.

/** @param {{id: number, name: string, labels?: Record<string, string>, amounts?: Record<string, [number, number]>,
 *   flags?: number, taints?: string[]}[]} nodes */
export function nodeTable(nodes) {
  /** @type {string[]} */
  const strings = [];
  const index = (/** @type {string} */ text) => {
    if (!strings.includes(text)) strings.push(text);
    return strings.indexOf(text);
  };
  const table = {
    strings,
    id: /** @type {number[]} */ ([]),
    name: /** @type {string[]} */ ([]),
    flags: /** @type {number[]} */ ([]),
    labels: /** @type {number[]} */ ([]),
    labelEnds: /** @type {number[]} */ ([]),
    taints: /** @type {number[]} */ ([]),
    taintEnds: /** @type {number[]} */ ([]),
    amounts: /** @type {number[]} */ ([]),
    amountEnds: /** @type {number[]} */ ([]),
  };
  for (const node of nodes) {
    table.id.push(node.id);
    table.name.push(node.name);
    table.flags.push(node.flags ?? 0);
    for (const [key, value] of Object.entries(node.labels ?? {})) table.labels.push(index(key), index(value));
    table.labelEnds.push(table.labels.length);
    for (const taint of node.taints ?? []) table.taints.push(index(taint));
    table.taintEnds.push(table.taints.length);
    for (const [name, [allocatable, used]] of Object.entries(node.amounts ?? {})) {
      table.amounts.push(index(name), allocatable, used);
    }
    table.amountEnds.push(table.amounts.length);
  }
  return table;
}

/** @param {{id: number, name: string, node: number, requests?: Record<string, number>, state?: number}[]} pods */
export function podTable(pods) {
  const strings = ['default', ''];
  const index = (/** @type {string} */ text) => {
    if (!strings.includes(text)) strings.push(text);
    return strings.indexOf(text);
  };
  return {
    strings,
    requestLists: pods.map(({ requests }) =>
      Object.entries(requests ?? {}).flatMap(([name, amount]) => [index(name), amount]),
    ),
    id: pods.map(({ id }) => id),
    name: pods.map(({ name }) => name),
    namespace: pods.map(() => 0),
    node: pods.map(({ node }) => node),
    state: pods.map(({ state }) => state ?? 0),
    priority: pods.map(() => 0),
    controller: pods.map(() => 1),
    scheduler: pods.map(() => 1),
    gang: pods.map(() => 1),
    requests: pods.map((_, at) => at),
  };
}

/** @param {number} sequence @param {{nodes?: Parameters<typeof nodeTable>[0], nodesGone?: number[],
 *   pods?: Parameters<typeof podTable>[0], podsGone?: number[]}} content */
export function change(sequence, content) {
  return {
    sequence,
    counted: [],
    nodes: { gone: content.nodesGone ?? [], changed: nodeTable(content.nodes ?? []) },
    pods: { gone: content.podsGone ?? [], changed: podTable(content.pods ?? []) },
  };
}
