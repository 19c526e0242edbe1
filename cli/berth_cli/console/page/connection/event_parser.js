// Server-sent events out of pieces of text. EventSource cannot send the session's key, so the page reads the stream
// itself.

/**
 * @typedef {object} ServerEvent
 * @property {string} name
 * @property {string} data
 */

/** A change of everything is at most as large as the server's limit for what it keeps. */
const MOST_CHARACTERS = 64_000_000;

export class EventParser {
  constructor() {
    /** @type {string[]} */
    this.pieces = [];
    this.length = 0;
  }

  /** The events that are complete now. @param {string} text @returns {ServerEvent[]} */
  push(text) {
    this.length += text.length;
    if (this.length > MOST_CHARACTERS) throw new Error('an event is too large');
    // Looked for where two pieces meet, too; without joining all pieces of a large event each time.
    const last = this.pieces.at(-1) ?? '';
    this.pieces.push(text);
    if (!(last.slice(-1) + text).includes('\n\n')) return [];
    const parts = this.pieces.join('').split('\n\n');
    const rest = parts.pop() ?? '';
    this.pieces = rest ? [rest] : [];
    this.length = rest.length;
    return parts.map(parse).filter((event) => event.data !== '');
  }
}

/** @param {string} text @returns {ServerEvent} */
function parse(text) {
  let name = 'message';
  /** @type {string[]} */
  const data = [];
  for (const line of text.split('\n')) {
    const [field, value] = splitField(line);
    if (field === 'event') name = value;
    else if (field === 'data') data.push(value);
  }
  return { name, data: data.join('\n') };
}

/** @param {string} line @returns {[string, string]} */
function splitField(line) {
  const colon = line.indexOf(':');
  if (colon < 0) return [line, ''];
  return [line.slice(0, colon), line.slice(colon + 1).replace(/^ /, '')];
}
