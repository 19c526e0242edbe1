// Shows pending pods by reason, and gangs; a reason highlights the nodes that it rejects. Explains a pod or a gang.

import * as model from '../model/pending.js';
import { formatCount } from '../model/quantities.js';
import { arranged } from '../model/rows.js';
import { Poller } from '../poller.js';
import { element, fieldOf, placeOf, setAttributes, setChildren, setDetails, setText } from './dom.js';
import { Grid } from './grid.js';
import { list, row, scoreTable, scrolled, table } from './tables.js';

/** @typedef {import('../model/url_state.js').State} State */

/** The server evaluates for some seconds; while the cluster changes, the page asks again after this time. */
const PAUSE_MS = 500;
const EXPLAIN_PAUSE_MS = 1000;
const GANGS_PAUSE_MS = 1500;
/** For each kind of object to explain: its path on the server, its place in the page, and the text while it is loaded.
 * @type {['pod' | 'gang', string, string, string][]} */
const EXPLAINED = [
  ['pod', '/api/explain?pod=', 'explanation', 'Looking for what would place'],
  ['gang', '/api/gang?gang=', 'gang', 'Planning the members of'],
];

export class Pending {
  /** @param {import('../main.js').Page} page */
  constructor({ session, cluster, go, highlight }) {
    this.go = go;
    this.highlight = highlight;
    this.filter = fieldOf('pending-filter', (filter) => go({ filter }));
    this.grid = new Grid('pending-grid', (pod) => go({ pod, gang: '' }), go, 'explanation');
    this.gangs = element('tbody');
    placeOf('gangs-list').append(scrolled('Gangs', table(model.GANG_HEADS, this.gangs)));
    /** @type {State | null} */
    this.state = null;
    /** @type {model.PendingDocument | null} */
    this.document = null;
    this.part = 0;
    this.pollers = [
      new Poller(session, {
        path: () => (this.state ? '/api/pending' : ''),
        state: () => `${cluster.sequence} ${this.part}`,
        pauseMs: PAUSE_MS,
        onAnswer: (found) => this.receive(found),
        onRefusal: (reason) => setText(placeOf('pending-caption'), `Pending pods: ${reason}`),
      }),
      new Poller(session, {
        path: () => (this.state ? '/api/gangs' : ''),
        pauseMs: GANGS_PAUSE_MS,
        onAnswer: (found) => this.drawGangs(found),
        onRefusal: (reason) => setText(placeOf('gangs-caption'), `Gangs: ${reason}`),
      }),
      ...EXPLAINED.map(([kind, path, place]) => {
        const name = () => this.state?.[kind] ?? '';
        return new Poller(session, {
          path: () => name() && `${path}${encodeURIComponent(name())}`,
          state: () => cluster.sequence,
          pauseMs: EXPLAIN_PAUSE_MS,
          onAnswer: (found) => this.explain(place, found),
          onRefusal: (reason) => this.explain(place, { headline: reason }),
        });
      }),
    ];
  }

  /** @param {State} state */
  show(state) {
    // One explanation at a time.
    this.state = state.view === 'pending' ? { ...state, gang: state.pod ? '' : state.gang } : null;
    for (const [kind, , place, text] of EXPLAINED) this.begin(place, this.state?.[kind] ?? '', text);
    for (const poller of this.pollers) poller.wake();
    if (!this.state) return;
    if (this.filter.value !== state.filter) this.filter.value = state.filter;
    this.draw();
  }

  /** @param {model.PendingDocument} found */
  receive(found) {
    this.document = found;
    // The time was too short for some pods: the next answer has more of them.
    if (!found.isComplete) this.part += 1;
    this.draw();
  }

  draw() {
    const { document, state } = this;
    if (!state) return;
    if (!document) return setText(placeOf('pending-caption'), 'Judging the pending pods …');
    setText(placeOf('pending-caption'), model.captionOf(document));
    setChildren(
      placeOf('categories'),
      ['', ...Object.keys(model.CATEGORIES)],
      (category) => category,
      (category) => {
        const choose = () => this.go({ category, reason: '' });
        return element('button', { type: 'button', 'data-category': category, click: choose });
      },
      (button, key) => {
        button.setAttribute('aria-pressed', `${key === state.category}`);
        setText(button, key ? `${model.CATEGORIES[key]} (${model.countOf(document, key)})` : 'All');
      },
    );
    setChildren(
      placeOf('reasons'),
      model.reasonsOf(document, state.category),
      ({ key }) => key,
      ({ key }) => this.reasonItem(key),
      ({ firstChild: button }, { key, reason, pods }) => {
        button.setAttribute('aria-pressed', `${key === state.reason}`);
        const facts = `${formatCount(pods, 'pod')} · ${formatCount(reason.nodes.length, 'node')}`;
        setText(button.children[0], reason.reason);
        setText(button.children[1], `${reason.by} ${reason.plugin} · ${facts}`);
      },
    );
    this.highlight.choose(model.nodesOf(document, state.reason));
    const content = model.pendingTable(document, state.category, state.reason);
    this.grid.set({ ...content, rows: arranged(content, state) }, state, state.pod);
  }

  /** @param {string} key */
  reasonItem(key) {
    const click = () => this.go({ reason: this.state?.reason === key ? '' : key });
    const light = this.highlight.listeners('reasons', () => this.document && model.nodesOf(this.document, key));
    const texts = ['reason-text', 'reason-facts'].map((kind) => element('span', { class: kind }));
    return element('li', {}, element('button', { type: 'button', click, ...light }, ...texts));
  }

  /** @param {model.GangsDocument} found */
  drawGangs(found) {
    setText(placeOf('gangs-caption'), model.gangsCaption(found));
    placeOf('gangs-list').firstChild.hidden = !found.gangs.length;
    setChildren(
      this.gangs,
      model.inOrder(found),
      ({ gang }) => gang,
      ({ gang }) => {
        const open = () => this.go({ gang: this.state?.gang === gang ? '' : gang, pod: '' });
        const button = element('button', { type: 'button', class: 'link', 'data-gang': gang, click: open }, gang);
        return row([button, ...model.GANG_HEADS.slice(1).map(() => '')]);
      },
      (made, gang) => model.gangTexts(gang).forEach((text, at) => setText(made.children[at + 1], text)),
    );
  }

  /** @param {string} id of the place @param {string} name of a pod or a gang; may be empty @param {string} text */
  begin(id, name, text) {
    const place = placeOf(id);
    place.hidden = name === '';
    if (place.dataset.name === name) return;
    place.dataset.name = name;
    place.dataset.drawn = '';
    this.highlight.point(id, null);
    setDetails(id, `${text} ${name} …`);
  }

  /** Change the text only if it differs, so that readers keep their place. @param {string} id of the place
   * @param {any} found the output of berth explain -o json, and its headline */
  explain(id, found) {
    const place = placeOf(id);
    const drawn = JSON.stringify(found);
    if (place.dataset.drawn === drawn) return;
    place.dataset.drawn = drawn;
    // The row under the pointer disappears, so the pointer no longer highlights its nodes.
    this.highlight.point(id, null);
    /** @type {model.Explanation} */
    const { members = [], reasons = [], ranking = [], before = [], warnings = [], counterfactuals = [] } = found;
    const memberRows = members.map((each) => row([each.pod, each.state, each.node ?? '']));
    const reasonRows = reasons.map((each) => {
      const made = row([`${each.count}`, `${each.by} ${each.plugin}`, each.reason]);
      setAttributes(
        made,
        this.highlight.listeners(id, () => each.nodes),
      );
      return made;
    });
    const most = Math.max(1, ...ranking.map(({ total }) => total));
    const bars = ranking.map((each) => ({
      node: each.node,
      score: each.total,
      share: each.total / most,
      parts: each.scores,
    }));
    const left = members.length
      ? 'With these on their nodes, the next member fits on no node'
      : 'Why nodes are rejected';
    setDetails(
      id,
      found.headline,
      ...[...model.evictionTexts(found.preemption), ...warnings].map((text) => element('p', {}, text)),
      ...section('Members', members.length && table(['Member', 'State', 'Node'], memberRows)),
      ...section(left, reasons.length && table(['Nodes', 'Rule', 'Reason'], reasonRows)),
      ...section('The best nodes', ranking.length && scoreTable(['Node', 'Total', 'Scores'], bars)),
      ...section('Gangs that get their places first', before.length && list(before, 'changes')),
      // Without searchEnd, the search for changes was not run.
      ...section('What would place it', found.searchEnd && list(model.changeTexts(counterfactuals), 'changes')),
      element('p', {}, found.searchNote ?? ''),
    );
  }
}

/** @param {string} title @param {HTMLElement | 0 | '' | null | undefined} content @returns {HTMLElement[]} */
function section(title, content) {
  return content ? [element('h3', {}, title), content] : [];
}
