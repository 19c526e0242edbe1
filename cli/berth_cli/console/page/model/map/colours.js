// Colours of a share. The scale runs from dark blue to yellow: its lightness grows evenly, so it is read without colour
// vision and in print too (after cividis).

const STOPS = [
  [0, 34, 78],
  [18, 53, 112],
  [59, 73, 108],
  [87, 93, 109],
  [112, 113, 115],
  [138, 134, 120],
  [165, 156, 116],
  [195, 179, 105],
  [225, 204, 85],
  [254, 232, 56],
];

export const STEPS = 32;

/** More than there is: beside the scale, and also marked by a shape. */
export const BEYOND = 'rgb(213, 94, 0)';

/** The step of a share, 0 to STEPS - 1; STEPS: more than all. @param {number} share @returns {number} */
export function stepOf(share) {
  if (share > 1) return STEPS;
  return Math.min(STEPS - 1, Math.max(0, Math.floor(share * STEPS)));
}

/** @param {number} step @returns {string} */
export function colourOf(step) {
  if (step >= STEPS) return BEYOND;
  const at = (step / (STEPS - 1)) * (STOPS.length - 1);
  const low = Math.min(STOPS.length - 2, Math.floor(at));
  const part = at - low;
  const mixed = STOPS[low].map((value, index) => Math.round(value + (STOPS[low + 1][index] - value) * part));
  return `rgb(${mixed.join(', ')})`;
}

/** Whether a dark text is read better on it. @param {number} step @returns {boolean} */
export function isLight(step) {
  return step >= STEPS / 2;
}
