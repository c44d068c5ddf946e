// The outcomes of the calls during a disruption.

/**
 * A call that has ended, as the caller prints it.
 * @typedef {object} Call
 * @property {number} begin_ms
 * @property {number} end_ms
 * @property {string} [policy] the policy that a submit creates; a query has none
 * @property {string} [error]
 * @property {boolean} [is_unknown] whether a submit that failed may have been carried out
 */

/**
 * @typedef {object} Report
 * @property {number} calls
 * @property {number} failedQueries calls that failed although the package repeats them
 * @property {number} failedSubmits
 * @property {number} lost submits that succeeded, and of which upstream has no activity
 * @property {number} doubled submits of which upstream has more than one activity
 * @property {number} unexpected submits that upstream carried out although their error excludes this
 * @property {number} longestGapMs the longest time in which no call succeeded
 * @property {number} slowestMs the longest call that succeeded
 * @property {string[]} errors the different errors
 */

/**
 * Compares the calls with upstream's activities.
 * @param {Call[]} calls
 * @param {Iterable<{intent: any}>} activities
 * @returns {Report}
 */
export function reportOf(calls, activities) {
  /** @type {Map<string, number>} */
  const counts = new Map();
  for (const { intent } of activities) {
    for (const { policyName } of intent.createPoliciesIntent?.policies ?? []) {
      counts.set(policyName, (counts.get(policyName) ?? 0) + 1);
    }
  }
  const succeeded = calls.filter(({ error }) => !error);
  const failed = calls.filter(({ error }) => error);
  const begun = Math.min(...calls.map(({ begin_ms }) => begin_ms));
  const ends = [begun, ...succeeded.map(({ end_ms }) => end_ms)].sort((a, b) => a - b);
  const submits = calls
    .filter(({ policy }) => policy)
    .map((call) => ({ ...call, count: counts.get(call.policy) ?? 0 }));
  return {
    calls: calls.length,
    failedQueries: failed.filter(({ policy }) => !policy).length,
    failedSubmits: failed.filter(({ policy }) => policy).length,
    lost: submits.filter(({ error, count }) => !error && count === 0).length,
    doubled: submits.filter(({ count }) => count > 1).length,
    unexpected: submits.filter(({ error, is_unknown, count }) => error && !is_unknown && count > 0).length,
    longestGapMs: Math.max(...ends.slice(1).map((end, index) => end - ends[index])),
    slowestMs: Math.max(...succeeded.map(({ begin_ms, end_ms }) => end_ms - begin_ms)),
    errors: [...new Set(failed.map(({ error }) => error.replace(/ \(request .*?\)/, '')))],
  };
}

/**
 * The table of disruptions.
 * @param {Map<string, Report & {seconds: number}>} reports by the names of the disruptions
 */
export function tableOf(reports) {
  const columns = {
    'ready after': ({ seconds }) => `${seconds.toFixed(1)} s`,
    calls: ({ calls }) => calls,
    'failed queries': ({ failedQueries }) => failedQueries,
    'failed submits': ({ failedSubmits }) => failedSubmits,
    'lost or doubled submits': ({ lost, doubled }) => lost + doubled,
    'longest time without a success': ({ longestGapMs }) => `${(longestGapMs / 1000).toFixed(1)} s`,
    'slowest call': ({ slowestMs }) => `${(slowestMs / 1000).toFixed(1)} s`,
  };
  const rows = [...reports].map(([name, report]) => [name, ...Object.values(columns).map((cell) => cell(report))]);
  return markdown(['disruption', ...Object.keys(columns)], rows);
}

/** A table in Markdown. */
export function markdown(head, rows) {
  const line = (cells) => `| ${cells.join(' | ')} |`;
  return [line(head), `|${'---|'.repeat(head.length)}`, ...rows.map(line)].join('\n');
}
