// A table of any length: only the rows in sight are in the document. It is an ARIA grid with one tab stop; the arrow
// keys, Page Up and Down, Home and End move in it, and Enter opens a row.

import { element, setAttributes, setText } from './dom.js';

/**
 * @typedef {import('../../model/rows.js').Row} Row
 * @typedef {import('../../model/rows.js').Column} Column
 *
 * @typedef {object} Listener
 * @property {(key: string) => void} onOpen
 * @property {(key: string) => void} onSort
 * @property {(key: string | null) => void} onPoint the row under the pointer or with the focus
 */

const ROW_HEIGHT = 30;
const MORE_ROWS = 6;
const MOST_PRINTED = 1000;
const ROOMS = ['narrow', 'medium', 'wide'];

export class Grid {
  /** @param {HTMLElement} place @param {Listener} listener */
  constructor(place, listener) {
    this.listener = listener;
    /** @type {Column[]} */
    this.columns = [];
    /** @type {Row[]} */
    this.rows = [];
    this.opens = false;
    this.active = { row: 0, column: 0 };
    this.isPrinting = false;
    this.columnsKey = '';
    /** @type {Map<number, HTMLElement>} */
    this.shown = new Map();
    this.head = element('div', { role: 'row', class: 'grid-row grid-head', 'aria-rowindex': 1 });
    this.body = element('div', { role: 'rowgroup', class: 'grid-body' });
    this.grid = element(
      'div',
      // Hidden until there is something to show: a row without cells is no row.
      { role: 'grid', class: 'grid', tabindex: -1, 'aria-readonly': 'true', hidden: true },
      element('div', { role: 'rowgroup', class: 'grid-top' }, this.head),
      this.body,
    );
    this.note = element('p', { class: 'print-note', hidden: true });
    place.classList.add('grid-place');
    place.append(this.grid, this.note);
    this.grid.addEventListener('scroll', () => this.render(), { passive: true });
    this.grid.addEventListener('keydown', (event) => this.onKey(event));
    this.grid.addEventListener('click', (event) => this.onClick(event));
    this.grid.addEventListener('pointerover', (event) => this.listener.onPoint(this.keyAt(event.target)));
    this.grid.addEventListener('pointerleave', () => this.listener.onPoint(null));
    this.grid.addEventListener('focusin', (event) => this.onFocus(event));
    new ResizeObserver(() => this.render()).observe(this.grid);
    window.addEventListener('beforeprint', () => this.setPrinting(true));
    window.addEventListener('afterprint', () => this.setPrinting(false));
  }

  /** @param {{caption: string, columns: Column[], rows: Row[], sort: string, descending: boolean, opens: boolean}} content */
  set(content) {
    this.grid.hidden = false;
    const key = content.caption + content.columns.map((each) => each.key + each.title).join('|');
    const hadFocus = this.focused;
    const isOther = key !== this.columnsKey;
    if (isOther) {
      this.columnsKey = key;
      this.columns = content.columns;
      this.active = { row: content.rows.length ? 1 : 0, column: 0 };
      this.clear();
      this.grid.scrollTop = 0;
      ROOMS.forEach((room, at) =>
        this.grid.style.setProperty(`--${room}-columns`, this.widths(ROOMS.slice(0, at + 1))),
      );
      this.head.replaceChildren(...this.columns.map((column, at) => this.headCell(column, at)));
    }
    this.rows = content.rows;
    this.opens = content.opens;
    setAttributes(this.grid, {
      'aria-label': content.caption,
      'aria-rowcount': this.rows.length + 1,
      'aria-colcount': this.columns.length,
    });
    this.columns.forEach((column, at) => {
      const direction = content.descending ? 'descending' : 'ascending';
      setAttributes(this.head.children[at], { 'aria-sort': column.key === content.sort ? direction : 'none' });
    });
    this.body.style.height = `${this.rows.length * ROW_HEIGHT}px`;
    // Row 0 is the head.
    this.active.row = Math.min(this.active.row, this.rows.length);
    for (const [at, shown] of this.shown) {
      if (at < this.rows.length) this.fill(shown, this.rows[at]);
      else this.remove(at, shown);
    }
    this.render();
    // Who came here by keyboard goes on by keyboard.
    if (hadFocus && !this.focused) this.moveTo(this.active.row, this.active.column);
  }

  /** Of the columns that have room. @param {readonly string[]} rooms */
  widths(rooms) {
    return this.columns
      .filter(({ room }) => rooms.includes(room))
      .map(({ isNumber, grow }) => (isNumber ? 'minmax(4.5rem, 1fr)' : `minmax(5rem, ${grow}fr)`))
      .join(' ');
  }

  /** @param {number} at @param {HTMLElement} shown */
  remove(at, shown) {
    shown.remove();
    this.shown.delete(at);
  }

  clear() {
    for (const [at, shown] of this.shown) this.remove(at, shown);
  }

  /** @param {Column} column @param {number} at */
  headCell(column, at) {
    return element(
      'div',
      {
        role: 'columnheader',
        'aria-colindex': at + 1,
        class: classOf(column),
        tabindex: at === 0 ? 0 : -1,
        'data-sort': column.key,
        'data-row': 0,
        'data-column': at,
      },
      column.title,
    );
  }

  render() {
    const height = this.grid.clientHeight;
    const top = this.grid.scrollTop;
    const most = this.rows.length - 1;
    const first = this.isPrinting ? 0 : Math.max(0, Math.floor(top / ROW_HEIGHT) - MORE_ROWS);
    const last = this.isPrinting
      ? Math.min(most, MOST_PRINTED - 1)
      : Math.min(most, Math.ceil((top + height) / ROW_HEIGHT) + MORE_ROWS);
    const focused = this.focused;
    for (const [at, row] of this.shown) {
      // The row with the focus stays: without it the focus would be lost.
      if ((at < first || at > last) && !(focused && this.active.row === at + 1)) this.remove(at, row);
    }
    for (let at = first; at <= last; at += 1) {
      if (this.shown.has(at)) continue;
      const made = this.row(at);
      this.shown.set(at, made);
      this.body.append(made);
    }
    this.setTabStop();
  }

  /** @param {number} at */
  row(at) {
    const made = element('div', { role: 'row', 'aria-rowindex': at + 2 });
    if (!this.isPrinting) made.style.transform = `translateY(${at * ROW_HEIGHT}px)`;
    this.columns.forEach((column, index) => {
      const attributes = {
        role: 'gridcell',
        'aria-colindex': index + 1,
        class: classOf(column),
        tabindex: -1,
        'data-row': at + 1,
        'data-column': index,
      };
      const bar = column.key === 'use' ? element('span', { class: 'bar', 'aria-hidden': 'true' }) : null;
      made.append(element('div', attributes, element('span'), bar));
    });
    this.fill(made, this.rows[at]);
    return made;
  }

  /** A row that stays keeps its elements, and with them the focus. @param {HTMLElement} shown @param {Row} row */
  fill(shown, row) {
    setAttributes(shown, { class: this.opens ? 'grid-row opens' : 'grid-row', 'data-key': row.key });
    [...shown.children].forEach((cell, index) => {
      const [text, bar] = cell.children;
      setText(text, row.texts[index]);
      setAttributes(cell, { title: row.texts[index] });
      if (bar instanceof HTMLElement) {
        bar.style.setProperty('--share', String(Math.min(1, Math.max(0, row.share ?? 0))));
      }
    });
  }

  get focused() {
    return this.grid.contains(document.activeElement);
  }

  /** Where it was left. */
  focus() {
    this.moveTo(this.active.row, this.active.column);
    this.grid.scrollIntoView({ block: 'nearest' });
  }

  /** The cell that a tab reaches. */
  setTabStop() {
    for (const cell of this.grid.querySelectorAll('[tabindex="0"][data-row]')) setAttributes(cell, { tabindex: -1 });
    const cell = this.cell(this.active.row, this.active.column) ?? this.cell(0, 0);
    if (cell) setAttributes(cell, { tabindex: 0 });
  }

  /** @param {number} row @param {number} column @returns {HTMLElement | null} */
  cell(row, column) {
    return this.grid.querySelector(`[data-row="${row}"][data-column="${column}"]`);
  }

  /** @param {FocusEvent} event */
  onFocus(event) {
    const cell = event.target instanceof HTMLElement ? event.target.closest('[data-row]') : null;
    if (!(cell instanceof HTMLElement)) return;
    this.active = { row: Number(cell.dataset.row), column: Number(cell.dataset.column) };
    this.setTabStop();
    this.listener.onPoint(this.keyAt(cell));
  }

  /** @param {KeyboardEvent} event */
  onKey(event) {
    const page = Math.max(1, Math.floor(this.grid.clientHeight / ROW_HEIGHT) - 2);
    const { row, column } = this.active;
    const lastRow = this.rows.length;
    const lastColumn = this.columns.length - 1;
    /** @type {Record<string, [number, number]>} */
    const moves = {
      ArrowDown: [row + 1, column],
      ArrowUp: [row - 1, column],
      ArrowLeft: [row, column - 1],
      ArrowRight: [row, column + 1],
      PageDown: [row + page, column],
      PageUp: [Math.max(1, row - page), column],
      Home: event.ctrlKey ? [0, 0] : [row, 0],
      End: event.ctrlKey ? [lastRow, lastColumn] : [row, lastColumn],
    };
    if (event.key === 'Enter' || event.key === ' ') {
      this.openAt(event.target);
    } else if (event.key in moves) {
      const [toRow, toColumn] = moves[event.key];
      this.moveTo(
        Math.min(lastRow, Math.max(0, toRow)),
        this.seenColumn(Math.min(lastColumn, Math.max(0, toColumn)), column),
      );
    } else {
      return;
    }
    event.preventDefault();
  }

  /** Columns that are left out for lack of room are passed over. @param {number} wanted @param {number} from */
  seenColumn(wanted, from) {
    const step = wanted < from ? -1 : 1;
    for (let at = wanted; at >= 0 && at < this.columns.length; at += step) {
      if (this.head.children[at].clientWidth > 0) return at;
    }
    return from;
  }

  /** @param {number} row @param {number} column */
  moveTo(row, column) {
    this.active = { row, column };
    if (row > 0) {
      const top = (row - 1) * ROW_HEIGHT;
      const room = this.grid.clientHeight - this.head.offsetHeight - ROW_HEIGHT;
      if (top < this.grid.scrollTop) this.grid.scrollTop = top;
      else if (top > this.grid.scrollTop + room) this.grid.scrollTop = top - room;
    }
    this.render();
    this.cell(row, column)?.focus({ preventScroll: true });
  }

  /** @param {MouseEvent} event */
  onClick(event) {
    this.openAt(event.target);
  }

  /** @param {EventTarget | null} target */
  openAt(target) {
    if (!(target instanceof Element)) return;
    const head = target.closest('[data-sort]');
    if (head instanceof HTMLElement) return this.listener.onSort(head.dataset.sort ?? '');
    const key = this.keyAt(target);
    if (key !== null && this.opens) this.listener.onOpen(key);
  }

  /** @param {EventTarget | null} target @returns {string | null} */
  keyAt(target) {
    const row = target instanceof Element ? target.closest('[data-key]') : null;
    return row instanceof HTMLElement ? (row.dataset.key ?? null) : null;
  }

  /** All rows, up to a limit, are on paper. @param {boolean} isPrinting */
  setPrinting(isPrinting) {
    this.isPrinting = isPrinting;
    this.note.hidden = !isPrinting || this.rows.length <= MOST_PRINTED;
    setText(this.note, `The first ${MOST_PRINTED} of ${this.rows.length} rows.`);
    this.clear();
    this.render();
  }
}

/** @param {Column} column */
function classOf(column) {
  return `cell${column.isNumber ? ' number' : ''} ${column.room}`;
}
