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

/** Only where it differs, so that a screen reader does not read it again. @param {globalThis.Node} target
 * @param {string} text */
export function setText(target, text) {
  if (target.textContent !== text) target.textContent = text;
}
