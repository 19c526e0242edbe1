// Formats amounts for users.

const UNITS = ['', 'Ki', 'Mi', 'Gi', 'Ti', 'Pi'];
const NUMBER = new Intl.NumberFormat('en', { maximumFractionDigits: 2, useGrouping: true });
const ROUNDED = new Intl.NumberFormat('en', { maximumSignificantDigits: 4, useGrouping: false });

/** cpu is in thousandths, all others in whole units. @param {string} resource @param {number} amount */
export function formatAmount(resource, amount) {
  if (resource === 'cpu') return NUMBER.format(amount / 1000);
  if (!/^(memory$|ephemeral-storage$|hugepages-)/.test(resource)) return NUMBER.format(amount);
  let unit = 0;
  let value = amount;
  while (Math.abs(value) >= 1024 && unit < UNITS.length - 1) {
    value /= 1024;
    unit += 1;
  }
  return `${ROUNDED.format(value)}${UNITS[unit] ? ` ${UNITS[unit]}` : ''}`;
}

/** @param {number | null} share */
export function formatShare(share) {
  if (share === null) return 'none';
  if (share === Infinity) return 'beyond';
  return `${Math.round(share * 100)} %`;
}

/** @param {number} seconds */
export function formatAge(seconds) {
  if (seconds < 90) return `${Math.round(seconds)} s`;
  if (seconds < 90 * 60) return `${Math.round(seconds / 60)} min`;
  if (seconds < 36 * 3600) return `${Math.round(seconds / 3600)} h`;
  return `${Math.round(seconds / 86400)} days`;
}

/** @param {number} number @param {string} noun */
export function formatCount(number, noun) {
  return `${number} ${noun}${number === 1 ? '' : 's'}`;
}
