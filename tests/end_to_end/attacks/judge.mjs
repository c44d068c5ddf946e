// Judges what a round of attacks has observed.

const MEBIBYTE = 1 << 20;
/** The most bytes that clients can make the gateway hold with the default settings. */
export const ACCOUNT_BYTES = 256 * MEBIBYTE;
/**
 * The most memory that the gateway uses in addition: the program and its libraries, threads, the caches of its stores, and
 * free memory that is not returned. Before an attack, 87 to 91 MiB are resident.
 */
export const BASE_BYTES = 128 * MEBIBYTE;
/** The most resident memory of the gateway. */
export const MOST_RESIDENT_BYTES = ACCOUNT_BYTES + BASE_BYTES;
/** The limit of the control group in which the gateway runs, as in the pod of a small installation. */
export const CONTROL_GROUP_BYTES = 384 * MEBIBYTE;
/** The part of the calls and deliveries of honest parties that must succeed. */
const SHARE = 0.95;

/**
 * The calls of honest callers, or the deliveries of honest senders, that began in one phase.
 * @typedef {object} Sample
 * @property {number[]} answeredMs how long each took that succeeded, in milliseconds
 * @property {Record<string, number>} failed the number of the others by their errors
 */

/**
 * @typedef {object} Observation
 * @property {{status: number | null, signal: string | null} | undefined} ended how the process ended, if it did
 * @property {number} restBytes the resident memory of the gateway before the attack
 * @property {number} peakBytes the most resident memory of the gateway
 * @property {boolean} isAnswered whether a call after the attack was answered
 * @property {Record<'callers' | 'senders', Record<'quiet' | 'attack', Sample>>} honest
 */

const mebibytes = (bytes) => `${Math.round(bytes / MEBIBYTE)} MiB`;

/** A quantile of numbers, from 0 to 1. */
export function quantile(numbers, q) {
  const sorted = [...numbers].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(q * sorted.length))];
}

/** The part of a sample that succeeded within this time. */
export function shareOf({ answeredMs, failed }, withinMs) {
  const all = answeredMs.length + Object.values(failed).reduce((sum, count) => sum + count, 0);
  return answeredMs.filter((ms) => ms <= withinMs).length / all;
}

/**
 * The promises that the gateway has broken.
 * @param {Observation} observation
 * @param {(quiet: Sample) => number} boundMs the time in which a call or a delivery must succeed
 * @returns {string[]}
 */
export function judge({ ended, restBytes, peakBytes, isAnswered, honest }, boundMs) {
  const findings = [];
  if (ended) findings.push(`the gateway ended during the attack with ${ended.signal ?? ended.status}`);
  if (restBytes > BASE_BYTES)
    findings.push(`${mebibytes(restBytes)} are resident at rest, more than ${mebibytes(BASE_BYTES)}`);
  if (peakBytes > MOST_RESIDENT_BYTES) {
    findings.push(`${mebibytes(peakBytes)} were resident, more than ${mebibytes(MOST_RESIDENT_BYTES)}`);
  }
  if (!isAnswered) findings.push('a call after the attack was not answered');
  for (const [party, { quiet, attack }] of Object.entries(honest)) {
    if (quiet.answeredMs.length === 0) findings.push(`no call or delivery of the ${party} succeeded before the attack`);
    const bound = boundMs(quiet);
    const share = shareOf(attack, bound);
    // A share that is not a number means that nothing began.
    if (share >= SHARE) continue;
    const failed = JSON.stringify(attack.failed);
    findings.push(
      `${(100 * share).toFixed(1)} % of the honest ${party} succeeded within ${Math.round(bound)} ms: ${failed}`,
    );
  }
  return findings;
}

/** How often a quiet p99 a call may last during an attack. */
const TIMES_QUIET = 2;
/** On a small machine, the attackers, upstream and the honest parties delay each other by so much. */
const FLOOR_MS = 250;

/** The bound of the promise: twice the quiet p99. */
export const twiceQuiet = ({ answeredMs }) => Math.max(FLOOR_MS, TIMES_QUIET * quantile(answeredMs, 0.99));
