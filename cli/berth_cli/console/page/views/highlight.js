// The nodes that stand out on the map: nodes of the element under the pointer, else nodes of the chosen element.

/** @typedef {readonly string[] | null} Names null: no nodes */

export class Highlight {
  /** @param {(names: ReadonlySet<string> | null) => void} light */
  constructor(light) {
    this.light = light;
    /** Nodes by place, as long as an element there has the pointer or the focus; the last place is used.
     * @type {Map<string, readonly string[]>} */
    this.pointed = new Map();
    /** @type {Names} */
    this.chosen = null;
  }

  /** Light up nodes for the pointer or the focus. @param {string} place in the page @param {Names} names */
  point(place, names) {
    if (names) this.pointed.set(place, names);
    else this.pointed.delete(place);
    this.show();
  }

  /** Listeners of an element that lights up these nodes. @param {string} place @param {() => Names} names */
  listeners(place, names) {
    const light = () => this.point(place, names());
    const unlight = () => this.point(place, null);
    return { pointerenter: light, pointerleave: unlight, focusin: light, focusout: unlight };
  }

  /** @param {Names} names */
  choose(names) {
    this.chosen = names;
    this.show();
  }

  /** Forget all nodes, because another view is shown. */
  clear() {
    this.pointed.clear();
    this.choose(null);
  }

  show() {
    const names = [...this.pointed.values()].at(-1) ?? this.chosen;
    this.light(names && new Set(names));
  }
}
