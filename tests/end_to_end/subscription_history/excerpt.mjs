// The part of a history that explains what the judge has found. A round that fails prints it, because the same seed
// rarely leads to the same history again.

/** The most elements of a list that are printed. */
const MAX_ELEMENTS = 10;

/**
 * Returns a line for each record about the events that the findings name, and for each record that is about no event:
 * `begin-end` as moments, the type, and the other members, where tokens are replaced by their deliveries.
 * @param {Pick<import('./judge.mjs').History, 'steps' | 'log'>} history
 * @param {string[]} findings
 */
export function excerpt({ steps, log }, findings) {
  const isNamed = (id) => findings.some((finding) => finding.split(/[^\w-]/).includes(id));
  const events = new Set(log.map(({ id }) => id).filter(isNamed));
  const deliveries = new Map(steps.filter(({ type }) => type === 'delivery').map((step) => [step.token, step]));
  const isAbout = ({ type, event, tokens = [] }) => {
    if (type === 'delivery') return events.has(event);
    return type !== 'settle' || tokens.some((token) => events.has(deliveries.get(token)?.event));
  };
  const readable = (name, value) => {
    if (name === 'token') return undefined;
    const delivery = deliveries.get(value);
    if (delivery !== undefined) return `${delivery.event} ${delivery.count} ${delivery.consumer}`;
    return Array.isArray(value) ? value.slice(0, MAX_ELEMENTS) : value;
  };
  return steps
    .filter(isAbout)
    .map(({ type, at, until, ...more }) => `${at}-${until} ${type} ${JSON.stringify(more, readable)}`);
}
