// Colors of a share. The scale runs from dark blue to yellow: its lightness grows evenly, so that it is readable
// without color vision and in print (after cividis).

const STOPS = [
  [0, 34, 78],
  [59, 73, 108],
  [112, 113, 115],
  [165, 156, 116],
  [254, 232, 56],
];

export const STEPS = 32;

/** The color of a share above 100 %, which is not on the scale. */
const BEYOND = 'rgb(213, 94, 0)';

/** The color of a share; empty if the resource does not exist. @param {number | null} share @returns {string} */
export function colourOf(share) {
  if (share === null) return '';
  if (share > 1) return BEYOND;
  const at = (Math.min(STEPS - 1, Math.floor(Math.max(0, share) * STEPS)) / (STEPS - 1)) * (STOPS.length - 1);
  const low = Math.min(STOPS.length - 2, Math.floor(at));
  const mixed = STOPS[low].map((value, index) => Math.round(value + (STOPS[low + 1][index] - value) * (at - low)));
  return `rgb(${mixed.join(', ')})`;
}
