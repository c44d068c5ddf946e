// Judges a history: compares the records of callers, senders, subscribers and upstream, during faults and restarts,
// with the gateway's promises.

/**
 * One try of a call to the gateway.
 * @typedef {object} Attempt
 * @property {string} request the name of the request. All tries of a request have the same name, which is also in the
 *     body
 * @property {'plain' | 'timestamped' | 'keyed' | 'equal' | 'query'} kind plain: one try, and the gateway chooses the
 *     timestamp; timestamped: the caller sets timestamp_ms and repeats the call; keyed: the caller sets idempotency_key
 *     and repeats the call; equal: as plain, but all requests have the same parameters
 * @property {'ok' | 'refused' | 'failed' | 'unknown'} outcome refused: the gateway reported that nothing was carried
 *     out; failed: upstream reported it
 * @property {string} code
 * @property {string} [reason] of the gateway's ErrorInfo
 * @property {string} [activityId]
 * @property {number} from the number of requests that upstream had received when the try began
 * @property {number} until the number of requests that upstream had received when the next try of the request began, or
 *     at the end of the history
 * @property {number} behindMs the largest difference by which the gateway's clock can have been behind the latest
 *     timestamp of any process during the try
 */

/**
 * @typedef {object} History
 * @property {string[]} sent the ids of sent events, all different
 * @property {string[]} acknowledged the event ids of deliveries that the gateway answered with 2xx
 * @property {Seen[]} log the whole event log at the end
 * @property {{name: string, events: Seen[], faults: string[]}[]} subscribers `events` are the events that a subscriber
 *     received in all its calls, in order, from the log's beginning; `faults` are errors that must not end its calls
 * @property {Attempt[]} attempts
 * @property {{request?: string, bodySha256: string, accepted: boolean, number: number}[]} requests stamped requests
 *     that upstream saw, in the order of their numbers; `number` counts all requests. `accepted`: upstream created an
 *     activity, or returned an existing one
 * @property {Record<string, unknown>[] | undefined} audit every record of the audit log, in order; undefined if there is
 *     no audit log
 * @property {{status: number, text: string}} verification the result of `stampgate audit verify` at the end
 * @property {string[]} faults other faults: unexpected ends of the process
 */

/**
 * A received event. `content` is a digest of all its data.
 * @typedef {{eventId: string, content: string}} Seen
 */

/**
 * The gateway refuses timestamps that are a minute ahead of its clock. This constant is less than a minute, to allow
 * for the duration of a round.
 */
const AHEAD_MS = 50_000;

/** How often the gateway sends a request at most. */
const MOST_ATTEMPTS = 3;

/** @returns {string[]} the broken promises, one sentence each; empty if the gateway kept all. */
export function judge(history) {
  return [
    ...history.faults,
    ...judgeEvents(history),
    ...judgeSubscribers(history),
    ...judgeSubmits(history),
    ...(history.audit === undefined ? [] : judgeAudit(history)),
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
      if (there === undefined)
        found.push(`subscriber ${name} got event ${eventId} at ${place}, which the log does not have`);
      else if (there.eventId === eventId) found.push(`${place} was seen with two contents by subscriber ${name}`);
      else found.push(`${place} is event ${there.eventId} in the log, and subscriber ${name} got event ${eventId}`);
      break; // all later events would be reported too
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
  const bodiesOf = new Map();
  const acceptedOf = new Map();
  for (const { request, bodySha256, accepted, number } of requests) {
    if (request === undefined) continue;
    addTo(bodiesOf, request, bodySha256);
    if (accepted) addTo(acceptedOf, request, number);
  }
  for (const { request, kind } of firstOf(submits)) {
    const bodies = bodiesOf.get(request) ?? [];
    const different = new Set(bodies).size;
    if (kind !== 'equal' && different > 1)
      found.push(`upstream saw ${different} bodies of the ${kind} request ${request}`);
    // The gateway sends each of these tries once at most.
    const repeated = bodies.length - different;
    if (kind === 'equal' && repeated > 0)
      found.push(`${repeated} timestamps of the request ${request} were used before`);
  }
  // The requests for which an earlier try may still arrive at upstream during a later try.
  const open = new Set();
  for (const { request, outcome, code, reason, from, until, kind, behindMs } of submits) {
    const made = () => acceptedOf.get(request)?.some((number) => number > from && number <= until);
    if (outcome === 'ok' && kind !== 'equal' && !bodiesOf.has(request)) {
      found.push(`request ${request} was answered OK, and upstream never saw it`);
    }
    if (outcome !== 'refused') open.add(request);
    if (outcome === 'refused' && kind !== 'equal' && !open.has(request) && made()) {
      found.push(`request ${request} was answered ${code} (${reason}), and in the same call upstream made an activity`);
    }
    if (reason === 'TIMESTAMPS_EXHAUSTED' && behindMs < AHEAD_MS) {
      found.push(`request ${request} was answered TIMESTAMPS_EXHAUSTED on a clock that is behind by ${behindMs} ms`);
    }
  }
  const owners = new Map();
  for (const { request, kind, outcome, activityId } of submits) {
    if (outcome !== 'ok') continue;
    // Each try of kind 'equal' counts as a separate request.
    const owner = kind === 'equal' ? Symbol(request) : request;
    if (owners.has(activityId) && owners.get(activityId) !== owner) {
      found.push(`two requests got the same activity ${activityId}, the second of them ${request}`);
    }
    owners.set(activityId, owner);
  }
  return found;
}

/** How often the gateway may have sent the request of a call. A process that is killed records no number of attempts. */
function attemptsOf({ reason, attempts = 1 }) {
  return ['PROCESS_ENDED', 'ABANDONED'].includes(reason) ? MOST_ATTEMPTS : attempts;
}

function judgeAudit({ requests, audit, verification }) {
  const found = [];
  const allows = audit.filter(({ kind }) => kind === 'allow');
  const outcomeRecords = audit.filter(({ kind }) => kind === 'outcome');
  const attempts = new Map(outcomeRecords.map((outcome) => [outcome.allow, attemptsOf(outcome)]));
  const allowed = new Map();
  for (const { seq, body_sha256: digest } of allows) {
    allowed.set(digest, (allowed.get(digest) ?? 0) + (attempts.get(seq) ?? 1));
  }
  for (const [digest, count] of countsOf(requests.map(({ bodySha256 }) => bodySha256))) {
    const most = allowed.get(digest) ?? 0;
    if (most < count) found.push(`upstream saw body ${digest} ${count} times, with ${most} allowed attempts`);
  }
  const outcomes = countsOf(outcomeRecords.map(({ allow }) => allow));
  for (const { seq, method } of allows) {
    const count = outcomes.get(seq) ?? 0;
    if (count !== 1) found.push(`allow ${seq} of ${method} has ${count} outcomes`);
  }
  let stopped = false;
  for (const { kind, closed = 0 } of audit) {
    if (kind === 'stop') stopped = true;
    if (kind !== 'start') continue;
    // After its start record, a process first writes the outcomes for allows that the process before has left open.
    if (stopped && closed > 0) found.push(`a process that ended normally left ${closed} allows without an outcome`);
    stopped = false;
  }
  if (verification.status !== 0) found.push(`audit verify: ${verification.text.trim().split('\n').at(-1)}`);
  return found;
}

/** Adds a value to the list of the key. */
function addTo(lists, key, value) {
  if (!lists.has(key)) lists.set(key, []);
  lists.get(key).push(value);
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
