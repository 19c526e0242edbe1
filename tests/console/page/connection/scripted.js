// A console that says what a test tells it to, as a session sees it.

/** A stream of text that the test writes and ends. */
export class ScriptedStream {
  constructor() {
    /** @type {any} */
    this.controller = null;
    this.body = new ReadableStream({ start: (controller) => void (this.controller = controller) });
  }

  /** @param {string} text */
  send(text) {
    this.controller.enqueue(new TextEncoder().encode(text));
  }

  /** @param {string} name @param {unknown} content */
  event(name, content) {
    this.send(`event: ${name}\ndata: ${JSON.stringify(content)}\n\n`);
  }

  end() {
    this.controller.close();
  }
}

/** Answers in order: values, errors to throw, or streams. What is asked beyond them waits until it is aborted. */
export class ScriptedSession {
  /** @param {Record<string, unknown[]>} answers by path */
  constructor(answers) {
    this.answers = answers;
    /** @type {string[]} */
    this.asked = [];
  }

  async open() {
    return this.next('open', undefined);
  }

  /** @param {string} path @param {AbortSignal} [signal] @returns {Promise<any>} */
  document(path, signal) {
    return this.next(path, signal);
  }

  /** @param {string} path @param {AbortSignal} [signal] @returns {Promise<any>} */
  async get(path, signal) {
    const answer = await this.next(path, signal);
    // As fetch does: the body fails when the request is aborted.
    signal?.addEventListener('abort', () => answer.controller.error(signal.reason));
    return answer;
  }

  /** @param {string} path @param {AbortSignal} [signal] @returns {Promise<any>} */
  async next(path, signal) {
    this.asked.push(path);
    const answers = this.answers[path] ?? this.answers[path.split('?')[0]] ?? [];
    if (!answers.length) {
      if (path === 'open') return false;
      return new Promise((_, reject) => {
        const abort = () => reject(signal?.reason);
        if (signal?.aborted) abort();
        else signal?.addEventListener('abort', abort);
      });
    }
    const answer = answers.shift();
    if (answer instanceof Error) throw answer;
    return answer;
  }
}

/** Until everything that can go on has gone on. */
export function settled() {
  return new Promise((resolve) => {
    setTimeout(resolve, 5);
  });
}
