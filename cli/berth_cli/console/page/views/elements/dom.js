// Elements out of texts. Nothing here takes markup, and the browser refuses it too (trusted types).

/**
 * @typedef {string | number | globalThis.Node | null} Child
 * @typedef {Record<string, string | number | boolean | null | ((event: any) => void)>} Attributes
 */

/** An element. Attributes that are functions are listeners; null and false leave one out.
 * @template {keyof HTMLElementTagNameMap} T
 * @param {T} tag @param {Attributes} [attributes] @param {...Child} children @returns {HTMLElementTagNameMap[T]} */
export function element(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  setAttributes(made, attributes);
  made.append(
    ...children.filter((child) => child !== null).map((child) => (child instanceof Node ? child : String(child))),
  );
  return made;
}

/** @param {Element} target @param {Attributes} attributes */
export function setAttributes(target, attributes) {
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === 'function') target.addEventListener(name, value);
    else if (value === null || value === false) target.removeAttribute(name);
    else target.setAttribute(name, value === true ? '' : String(value));
  }
}

/** @param {Document} page @param {string} id @returns {HTMLElement} */
export function placeOf(page, id) {
  const found = page.getElementById(id);
  if (!found) throw new Error(`the page has no ${id}`);
  return found;
}

/** @param {Document} page @param {string} id */
export const buttonOf = (page, id) => /** @type {HTMLButtonElement} */ (placeOf(page, id));

/** @param {Document} page @param {string} id */
export const inputOf = (page, id) => /** @type {HTMLInputElement} */ (placeOf(page, id));

/** @param {Document} page @param {string} id */
export const selectOf = (page, id) => /** @type {HTMLSelectElement} */ (placeOf(page, id));

/** Only where it differs, so that a screen reader does not read it again. @param {globalThis.Node} target
 * @param {string} text */
export function setText(target, text) {
  if (target.textContent !== text) target.textContent = text;
}

/** Children by key: those that stay keep their elements, and with them the focus and the pointer.
 * @template T @param {HTMLElement} place @param {readonly T[]} items @param {(item: T) => string} keyOf
 * @param {(item: T) => HTMLElement} make @param {(made: HTMLElement, item: T) => void} [update] */
export function setChildren(place, items, keyOf, make, update = () => {}) {
  const keys = new Set(items.map(keyOf));
  /** @type {Map<string | undefined, HTMLElement>} */
  const known = new Map();
  for (const child of [...place.children]) {
    if (!(child instanceof HTMLElement) || !keys.has(child.dataset.item ?? '')) child.remove();
    else known.set(child.dataset.item, child);
  }
  const focused = document.activeElement;
  items.forEach((item, at) => {
    const key = keyOf(item);
    const child = known.get(key) ?? make(item);
    child.dataset.item = key;
    update(child, item);
    if (place.children[at] !== child) place.insertBefore(child, place.children[at] ?? null);
  });
  // An element that moves loses the focus.
  if (focused instanceof HTMLElement && place.contains(focused)) focused.focus();
}

/** The options of a list, and which of them is chosen. @param {HTMLSelectElement} select
 * @param {readonly [string, string][]} options each with its value and its text @param {string} chosen */
export function setOptions(select, options, chosen) {
  const key = JSON.stringify(options);
  if (select.dataset.options !== key) {
    select.dataset.options = key;
    select.replaceChildren(...options.map(([value, text]) => element('option', { value }, text)));
  }
  if (select.value !== chosen) select.value = chosen;
}
