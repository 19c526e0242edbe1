// Makes elements out of texts. The functions do not accept markup, and the browser refuses it, too (trusted types).

/**
 * @typedef {string | number | globalThis.Node | null} Child
 * @typedef {Record<string, string | number | boolean | null | ((event: any) => void)>} Attributes
 */

/** Make an element. Attributes that are functions are listeners; null and false leave an attribute out.
 * @template {keyof HTMLElementTagNameMap} T
 * @param {T} tag @param {Attributes} [attributes] @param {...Child} children @returns {HTMLElementTagNameMap[T]} */
export function element(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  setAttributes(made, attributes);
  made.append(
    ...children.filter((child) => child !== null).map((child) => (child instanceof Node ? child : `${child}`)),
  );
  return made;
}

/** @param {Element} target @param {Attributes} attributes */
export function setAttributes(target, attributes) {
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === 'function') target.addEventListener(name, value);
    else if (value === null || value === false) target.removeAttribute(name);
    else if (target.getAttribute(name) !== `${value}`) target.setAttribute(name, value === true ? '' : `${value}`);
  }
}

/** @param {string} id @returns {any} an element of the page */
export function placeOf(id) {
  const found = document.getElementById(id);
  if (!found) throw new Error(`the page has no ${id}`);
  return found;
}

/** Set the text only if it differs, so that a screen reader does not repeat it. @param {globalThis.Node} target
 * @param {string} text */
export function setText(target, text) {
  if (target.textContent !== text) target.textContent = text;
}

/** Show an object's details. Their heading stays, and with it the focus. @param {string} id of the place
 * @param {string} title @param {...(string | globalThis.Node)} contents */
export function setDetails(id, title, ...contents) {
  const [heading, body] = placeOf(id).children;
  setText(heading, title);
  body.replaceChildren(...contents);
}

/** Update children by key: children that stay keep their elements, and with them the focus and the pointer.
 * @template T @param {HTMLElement} place @param {readonly T[]} items @param {(item: T) => string} keyOf
 * @param {(item: T) => HTMLElement} make @param {(made: any, item: T) => void} [update] */
export function setChildren(place, items, keyOf, make, update = () => {}) {
  const known = new Map([...place.children].map((child) => [/** @type {HTMLElement} */ (child).dataset.item, child]));
  const focused = document.activeElement;
  const made = items.map((item) => {
    const key = keyOf(item);
    const child = known.get(key) ?? make(item);
    known.delete(key);
    setAttributes(child, { 'data-item': key });
    update(child, item);
    return child;
  });
  for (const gone of known.values()) gone.remove();
  made.forEach((child, at) => {
    if (place.children[at] !== child) place.insertBefore(child, place.children[at] ?? null);
  });
  // An element that moves loses the focus.
  if (focused instanceof HTMLElement && place.contains(focused)) focused.focus();
}

/** Set the options of a list, and its chosen option. @param {HTMLSelectElement} select
 * @param {readonly string[][]} options each with its value and its text @param {string} chosen */
export function setOptions(select, options, chosen) {
  const all = options.some(([value]) => value === chosen) ? options : [...options, [chosen, chosen]];
  const key = JSON.stringify(all);
  if (select.dataset.options !== key) {
    select.dataset.options = key;
    select.replaceChildren(...all.map(([value, text]) => element('option', { value }, text)));
  }
  if (select.value !== chosen) select.value = chosen;
}

/** Listen to a field in which users type or choose. @param {string} id @param {(value: string) => void} onChange
 * @returns {any} the field */
export function fieldOf(id, onChange) {
  const field = placeOf(id);
  field.addEventListener(field.type === 'search' ? 'input' : 'change', () => onChange(field.value));
  return field;
}
