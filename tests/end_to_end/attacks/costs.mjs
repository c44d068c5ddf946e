// The table of what each kind of attack costs.
import { GROUPS } from './kinds.mjs';

const MEBIBYTE = 1 << 20;

/** What one kind has added to the memory of the gateway. */
export class Cost {
  /**
   * @param {string} kind
   * @param {string} party
   * @param {import('./judge.mjs').Observation} observation of a round with this kind alone
   */
  constructor(kind, party, { restBytes, peakBytes, ended }) {
    this.kind = kind;
    this.party = party;
    this.text = ended
      ? `killed at ${Math.round(peakBytes / MEBIBYTE)}`
      : `${Math.round((peakBytes - restBytes) / MEBIBYTE)}`;
  }
}

/** The rows of these groups, in the order of the kinds. A kind that was not measured has no row. */
function rowsOf(costs, groups, parties) {
  const kinds = groups.flatMap((group) => Object.entries(GROUPS[group]));
  return kinds
    .filter(([name]) => costs.some(({ kind }) => kind === name))
    .map(([name, { holds }]) => {
      const cells = parties.map(
        (party) => costs.find((each) => each.kind === name && each.party === party)?.text ?? '',
      );
      return `| ${[holds, ...cells].join(' | ')} |`;
    });
}

const head = (...titles) => [`| ${titles.join(' | ')} |`, `|${'---|'.repeat(titles.length)}`];

/** The tables of costs in Markdown: of the gRPC port, and of the other ports. @param {Cost[]} costs */
export function tableOf(costs) {
  const ports = rowsOf(costs, ['callers', 'floods', 'strangers'], ['caller', 'stranger', 'nobody']);
  const senders = rowsOf(costs, ['senders'], ['sender']);
  return [
    ...head('MiB that it added, by', 'a caller', 'a stranger', 'a client without a certificate'),
    ...ports,
    '',
    ...head('MiB that it added, by', 'a client of the webhook port or the admin port'),
    ...senders,
  ].join('\n');
}
