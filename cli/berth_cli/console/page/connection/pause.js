// Time between two questions.

/** @param {number} milliseconds @returns {Promise<void>} */
export function pause(milliseconds) {
  return new Promise((resolve) => {
    setTimeout(resolve, milliseconds);
  });
}
