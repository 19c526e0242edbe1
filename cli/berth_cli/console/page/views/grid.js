// A table whose rows open details: it has one tab stop; the arrow keys, Home and End move between rows; Enter opens a
// row. The focus then moves to the details, and Escape moves it back.

import { element, placeOf, setAttributes, setChildren, setText } from './dom.js';

const MAX_ROWS = 1000;

export class Grid {
  /** @param {string} id of its place @param {(key: string) => void} onOpen
   * @param {import('../main.js').Page['go']} go sorts @param {string} [details] place of an open row's details */
  constructor(id, onOpen, go, details) {
    this.onOpen = onOpen;
    this.details = details ? placeOf(details) : null;
    this.go = go;
    /** @type {import('../model/rows.js').Column[]} */
    this.columns = [];
    this.sort = '';
    this.order = '';
    this.head = element('tr', { role: 'row' });
    this.body = element('tbody', { class: 'grid-body' });
    this.table = element(
      'table',
      { role: 'grid', class: 'grid', hidden: true },
      element('thead', {}, this.head),
      this.body,
    );
    this.note = element('p', { class: 'print-note', hidden: true });
    placeOf(id).append(element('div', { class: 'grid-place' }, this.table), this.note);
    this.body.addEventListener('click', (event) => this.open(event.target));
    this.body.addEventListener('keydown', (event) => this.onKey(event));
    this.details?.addEventListener('keydown', (/** @type {KeyboardEvent} */ { key }) => {
      if (key === 'Escape') this.focus();
    });
  }

  /** @param {import('../model/rows.js').Table} content with the rows in their order
   * @param {import('../model/url_state.js').State} state @param {string} [selected] key of the open row */
  set({ caption, columns, rows }, { sort, order }, selected = '') {
    const isOther = this.table.getAttribute('aria-label') !== caption;
    const hadFocus = this.body.contains(document.activeElement);
    Object.assign(this, { columns, sort, order });
    this.table.hidden = false;
    setAttributes(this.table, { 'aria-label': caption });
    setChildren(
      this.head,
      columns,
      ({ key, title }) => `${key} ${title}`,
      ({ key, title }) =>
        element('th', {}, element('button', { type: 'button', click: () => this.sortBy(key) }, title)),
      (cell, column) => setAttributes(cell, { class: column.kind, 'aria-sort': column.key === sort ? order : 'none' }),
    );
    setChildren(
      this.body,
      rows.slice(0, MAX_ROWS),
      ({ key }) => key,
      () => element('tr', { role: 'row', tabindex: -1 }),
      (made, row) => this.fill(made, row, row.key === selected),
    );
    this.note.hidden = rows.length <= MAX_ROWS;
    setText(this.note, `The first ${MAX_ROWS} of ${rows.length} rows.`);
    const known = this.body.querySelector(isOther ? '[aria-selected="true"]' : '[tabindex="0"]');
    const stop = known ?? this.body.firstElementChild;
    if (stop) this.stopAt(stop);
    // The focused row is gone. Focus the table again, so that the user can continue by keyboard.
    if (hadFocus && !this.body.contains(document.activeElement)) this.focus();
  }

  /** @param {HTMLElement} made @param {import('../model/rows.js').Row} row @param {boolean} isSelected */
  fill(made, { texts, share }, isSelected) {
    setAttributes(made, { 'aria-selected': `${isSelected}` });
    const cells = texts.map((text, at) => ({ text, column: this.columns[at] }));
    setChildren(
      made,
      cells,
      ({ column }) => column.key,
      ({ column }) => {
        const bar = column.key === 'use' ? element('span', { class: 'bar', 'aria-hidden': 'true' }) : null;
        return element('td', { role: 'gridcell', class: column.kind }, element('span'), bar);
      },
      (cell, { text }) => {
        setText(cell.children[0], text);
        setAttributes(cell, { title: text });
        cell.children[1]?.style.setProperty('--share', `${Math.min(1, Math.max(0, share ?? 0))}`);
      },
    );
  }

  /** Focus the row that was left last. */
  focus() {
    const stop = this.body.querySelector('[tabindex="0"]');
    if (stop instanceof HTMLElement) stop.focus();
  }

  /** @param {Element} row that the Tab key reaches */
  stopAt(row) {
    this.body.querySelector('[tabindex="0"]')?.setAttribute('tabindex', '-1');
    row.setAttribute('tabindex', '0');
  }

  /** @param {KeyboardEvent} event */
  onKey(event) {
    const rows = [...this.body.children];
    const at = rows.findIndex((row) => row.contains(/** @type {Element} */ (event.target)));
    const last = rows.length - 1;
    /** @type {Record<string, number>} */
    const moves = { ArrowDown: at + 1, ArrowUp: at - 1, PageDown: at + 10, PageUp: at - 10, Home: 0, End: last };
    const isOpening = event.key === 'Enter' || event.key === ' ';
    if (!isOpening && !(event.key in moves)) return;
    event.preventDefault();
    if (isOpening) return this.open(event.target);
    this.stopAt(rows[Math.min(last, Math.max(0, moves[event.key]))]);
    this.focus();
  }

  /** @param {EventTarget | null} target */
  open(target) {
    const row = target instanceof Element ? target.closest('tr') : null;
    if (!row) return;
    this.stopAt(row);
    this.onOpen(row.dataset.item ?? '');
    row.scrollIntoView({ block: 'nearest' });
    const heading = this.details?.firstElementChild;
    heading?.focus({ preventScroll: true });
    heading?.scrollIntoView({ block: 'nearest' });
  }

  /** @param {string} key */
  sortBy(key) {
    this.go({ sort: key, order: this.sort === key && this.order === 'ascending' ? 'descending' : 'ascending' });
  }
}
