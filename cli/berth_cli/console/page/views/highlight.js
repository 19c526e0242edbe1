// Which nodes stand out on the map: those of what is pointed at, else those of what is chosen.

/** @typedef {readonly string[] | null} Names null: none */

export class Highlight {
  /** @param {(names: ReadonlySet<string> | null) => void} light */
  constructor(light) {
    this.light = light;
    /** @type {Names} */
    this.pointed = null;
    /** @type {Names} */
    this.chosen = null;
  }

  /** With the pointer or the focus. @param {Names} names */
  point(names) {
    this.pointed = names;
    this.show();
  }

  /** @param {Names} names */
  choose(names) {
    this.chosen = names;
    this.show();
  }

  /** Another view is shown. */
  clear() {
    this.pointed = null;
    this.choose(null);
  }

  show() {
    const names = this.pointed ?? this.chosen;
    this.light(names && new Set(names));
  }
}
