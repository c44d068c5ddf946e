// Judges a history: what everybody saw of a gateway through faults and restarts, against what the gateway promises.

/**
 * A call to the gateway, one try of it.
 * @typedef {object} Attempt
 * @property {string} request what is asked for; tries of one request have the same. It is in the body at upstream
 * @property {'plain' | 'timestamped' | 'keyed' | 'equal' | 'query'} kind plain: one try, and the gateway chooses the
 *     time; timestamped: the caller sets timestamp_ms and repeats; keyed: it sets idempotency_key and repeats; equal:
 *     as plain, but all requests are the same
 * @property {'ok' | 'refused' | 'failed' | 'unknown'} outcome refused: the gateway says that nothing was carried out;
 *     failed: upstream says so
 * @property {string} code
 * @property {string} [reason] of the gateway's ErrorInfo
 * @property {string} [activityId]
 * @property {number} from how many requests upstream had seen when the try began
 * @property {number} until and when the next try of the same request began, or at the end of the history
 * @property {number} behindMs how far, at most, a clock that the gateway may have seen during the try stood behind the latest
 *     timestamp that any process may have given out
 */

/**
 * @typedef {object} History
 * @property {string[]} sent event ids, all different
 * @property {string[]} acknowledged event ids of deliveries that were answered with 2xx
 * @property {Seen[]} log the whole log as it was at the end
 * @property {{name: string, events: Seen[], faults: string[]}[]} subscribers what each got, in order, over all its
 *     calls, from the log's beginning; `faults` are ends of calls that no subscriber should see
 * @property {Attempt[]} attempts
 * @property {{request?: string, bodySha256: string, accepted: boolean, number: number}[]} requests stamped requests
 *     that upstream saw, in the order of their numbers; `number` counts all requests. Accepted: an activity was made,
 *     or is there already
 * @property {Record<string, unknown>[]} audit every record, in order
 * @property {{status: number, text: string}} verification what `stampgate audit verify` said at the end
 * @property {string[]} faults what went wrong beside all that: ends of the process that nobody asked for
 */

/**
 * An event as somebody saw it: `content` is a digest of everything that it has.
 * @typedef {{eventId: string, content: string}} Seen
 */

/** Up to this the gateway's own timestamps may run ahead of its clock; some is left for what a round takes. */
const AHEAD_MS = 50_000;

/** @returns {string[]} what is wrong, one sentence each; none if all promises were held. */
export function judge(history) {
  return [
    ...history.faults,
    ...judgeEvents(history),
    ...judgeSubscribers(history),
    ...judgeSubmits(history),
    ...judgeAudit(history),
  ];
}

function judgeEvents({ sent, acknowledged, log }) {
  const found = [];
  const known = new Set(sent);
  const counts = countsOf(log.map(({ eventId }) => eventId));
  for (const id of new Set(acknowledged)) {
    if (!counts.has(id)) found.push(`event ${id} was acknowledged and is not in the log`);
  }
  for (const [id, count] of counts) {
    if (count > 1) found.push(`event ${id} is in the log ${count} times`);
    if (!known.has(id)) found.push(`event ${id} is in the log and nobody sent it`);
  }
  return found;
}

function judgeSubscribers({ log, subscribers }) {
  const found = [];
  for (const { name, events, faults } of subscribers) {
    found.push(...faults.map((fault) => `subscriber ${name}: ${fault}`));
    const seen = new Set();
    for (const [index, { eventId, content }] of events.entries()) {
      const place = `position ${index + 1}`;
      const there = log[index];
      if (seen.has(eventId)) found.push(`subscriber ${name} got event ${eventId} again at ${place}`);
      seen.add(eventId);
      if (there?.eventId === eventId && there.content === content) continue;
      if (there === undefined) found.push(`subscriber ${name} got event ${eventId} at ${place}, which the log has not`);
      else if (there.eventId === eventId) found.push(`${place} was seen with two contents by subscriber ${name}`);
      else found.push(`${place} is event ${there.eventId} in the log, and subscriber ${name} got event ${eventId}`);
      break; // what follows only repeats it
    }
    if (events.length < log.length) {
      found.push(`subscriber ${name} got ${events.length} of ${log.length} events`);
    }
  }
  return found;
}

function judgeSubmits({ attempts, requests }) {
  const found = [];
  const submits = attempts.filter(({ kind }) => kind !== 'query');
  const accepted = requests.filter((request) => request.accepted && request.request !== undefined);
  const bodiesOf = new Map();
  for (const { request, bodySha256 } of requests) {
    if (request !== undefined) bodiesOf.set(request, (bodiesOf.get(request) ?? new Set()).add(bodySha256));
  }
  for (const { request, kind } of firstOf(submits)) {
    const bodies = bodiesOf.get(request)?.size ?? 0;
    if (kind !== 'equal' && bodies > 1) found.push(`upstream saw ${bodies} bodies of the ${kind} request ${request}`);
  }
  // The requests of which an earlier try may still arrive at upstream, during a later one.
  const open = new Set();
  for (const { request, outcome, code, reason, from, until, kind, behindMs } of submits) {
    const made = accepted.some((each) => each.request === request && each.number > from && each.number <= until);
    if (outcome === 'ok' && kind !== 'equal' && !bodiesOf.has(request)) {
      found.push(`request ${request} was told OK, and upstream never saw it`);
    }
    if (outcome !== 'refused') open.add(request);
    if (outcome === 'refused' && kind !== 'equal' && made && !open.has(request)) {
      found.push(`request ${request} was told ${code} (${reason}), and in the same call upstream made an activity`);
    }
    if (reason === 'TIMESTAMPS_EXHAUSTED' && behindMs < AHEAD_MS) {
      found.push(`request ${request} was told TIMESTAMPS_EXHAUSTED on a clock that is behind by ${behindMs} ms`);
    }
  }
  const owners = new Map();
  for (const { request, kind, outcome, activityId } of submits) {
    if (outcome !== 'ok') continue;
    // Each of the equal requests is a request of its own.
    const owner = kind === 'equal' ? Symbol(request) : request;
    if (owners.has(activityId) && owners.get(activityId) !== owner) {
      found.push(`two requests were told the same activity ${activityId}, the second of them ${request}`);
    }
    owners.set(activityId, owner);
  }
  return found;
}

function judgeAudit({ requests, audit, verification }) {
  const found = [];
  const allows = audit.filter(({ kind }) => kind === 'allow');
  const allowed = countsOf(allows.map(({ body_sha256: digest }) => digest));
  for (const [digest, count] of countsOf(requests.map(({ bodySha256 }) => bodySha256))) {
    const allowCount = allowed.get(digest) ?? 0;
    if (allowCount < count) found.push(`upstream saw body ${digest} ${count} times, with ${allowCount} allows`);
  }
  const outcomes = countsOf(audit.filter(({ kind }) => kind === 'outcome').map(({ allow }) => allow));
  for (const { seq, method } of allows) {
    const count = outcomes.get(seq) ?? 0;
    if (count !== 1) found.push(`allow ${seq} of ${method} has ${count} outcomes`);
  }
  let stopped = false;
  for (const { kind, closed = 0 } of audit) {
    if (kind === 'stop') stopped = true;
    if (kind !== 'start') continue;
    // The outcomes that the new process writes for the one before stand between its start and the other's stop.
    if (stopped && closed > 0) found.push(`a process that ended as it should left ${closed} allows without an outcome`);
    stopped = false;
  }
  if (verification.status !== 0) found.push(`audit verify: ${verification.text.trim().split('\n').at(-1)}`);
  return found;
}

function countsOf(values) {
  const counts = new Map();
  for (const value of values) counts.set(value, (counts.get(value) ?? 0) + 1);
  return counts;
}

/** The first attempt of each request. */
function firstOf(attempts) {
  const firsts = new Map();
  for (const attempt of attempts) if (!firsts.has(attempt.request)) firsts.set(attempt.request, attempt);
  return firsts.values();
}
