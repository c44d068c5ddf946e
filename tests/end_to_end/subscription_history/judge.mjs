// Judges a history of a shared subscription: compares what consumers observed, during faults and restarts, with the
// promises of SubscriptionService.
import { Facts } from './facts.mjs';

/**
 * The settings of the subscription. Without `types`, all events pass the filter. `isShared`: several gateways serve it
 * on one store. `slackMs`: by how much times of consumers and of the gateways can differ.
 *
 * With several gateways, the judge allows in addition:
 * - A gateway knows only of the partitions that it holds: it need not report that a held token of another one is
 *   superseded. The holder still refuses the token when it is settled.
 * - Partitions move between the gateways whenever consumers come and go, which no consumer sees. The new holder knows
 *   up to which event the one before may have sent, but not which of these it has sent: an event that was not sent
 *   counts as sent once. An event that waits then, because it was given back, has the reason GATEWAY_RESTARTED.
 * - A gateway that was stopped or cut off for longer than a hold can send, until it has renewed its hold, what others
 *   send too: see Facts.isInLapse. Such a delivery need not be in order. It can be settled only as the holder's own: a
 *   token that is not the last one of its event is refused also then.
 * @typedef {object} Settings
 * @property {string} orderBy
 * @property {string[]} types
 * @property {number} maxDeliveries
 * @property {number} settleWithinMs
 * @property {boolean} [isShared]
 * @property {number} [slackMs]
 */

/**
 * @typedef {object} History
 * @property {import('./records.mjs').Step[]} steps
 * @property {{id: string, type: string, organization?: string, activity?: string}[]} log every event, in the order of the
 *     log, also those that retention has deleted
 * @property {Settings} settings
 * @property {string[]} faults other faults: unexpected ends of the process
 */

/** How a stream may end. The first word of an ending is the code. */
const ENDINGS = [
  'CANCELLED',
  'UNAVAILABLE',
  'UNAVAILABLE SHUTTING_DOWN',
  'UNAVAILABLE EVENT_LOG_UNAVAILABLE',
  'DEADLINE_EXCEEDED',
  'OUT_OF_RANGE EVENTS_TRIMMED',
  'NOT_FOUND SUBSCRIPTION_NOT_FOUND',
];
/** How a settle may fail. */
const FAILURES = [
  'UNAVAILABLE',
  'UNAVAILABLE SHUTTING_DOWN',
  'UNAVAILABLE EVENT_LOG_UNAVAILABLE',
  'NOT_FOUND SUBSCRIPTION_NOT_FOUND',
];

/** How often an event that was not sent counts as sent after its partition has moved to another gateway. */
const UNSENT = 1;

/** @returns {string[]} the broken promises, one sentence each; empty if the gateway kept all. */
export function judge(history) {
  const facts = new Facts(history);
  return [
    ...history.faults,
    ...judgeEndings(facts),
    ...judgeEvents(facts),
    ...judgeSettled(facts),
    ...judgeReasons(facts),
    ...judgeCounts(facts),
    ...judgeOrder(facts),
    ...judgeTokens(facts),
    ...judgeParked(facts),
    ...judgeLoss(facts),
  ];
}

const nameOf = ({ count, event, consumer }) => `delivery ${count} of ${event} to ${consumer}`;

function* judgeEndings({ streams, settles }) {
  for (const { stream, ending } of streams) {
    if (ending !== undefined && !ENDINGS.includes(ending)) yield `stream ${stream} ended with ${ending}`;
  }
  for (const { outcome, error } of settles) {
    if (error !== undefined && !FAILURES.includes(error)) yield `a settle as ${outcome} failed with ${error}`;
  }
}

/** Only events of the log that pass the filter are delivered, and none before the place of the latest Seek. */
function* judgeEvents(facts) {
  for (const delivery of facts.deliveries) {
    const event = facts.events.get(delivery.event);
    if (event === undefined) yield `${nameOf(delivery)}: the log does not have this event`;
    else if (!event.passes) yield `${nameOf(delivery)}: the filter does not pass this event`;
    else if (!delivery.retried && facts.isPassed(event.id, delivery.at)) {
      yield `${nameOf(delivery)}: a Seek had passed this event`;
    }
    if (delivery.retried && !facts.isRetried(delivery.event, delivery.at)) {
      yield `${nameOf(delivery)}: nobody had called RetryParked for this event`;
    }
  }
}

/** An event that was settled as DONE is not delivered again, except after a Seek. */
function* judgeSettled(facts) {
  for (const [event, attempts] of facts.attempts) {
    // For an event that the log does not have any more, the gateway accepts DONE with any token.
    if (facts.trimmed.has(event)) continue;
    for (const { settle, token, outcome, isAccepted } of attempts) {
      if (outcome !== 'DONE' || !isAccepted) continue;
      const again = facts
        .deliveriesOf(event)
        .find(({ at }) => at > settle.until && !facts.isSoughtBetween(settle.at, at));
      if (again === undefined) continue;
      yield `${nameOf(again)} (${again.reason}) followed after delivery ${facts.byToken.get(token).count} was settled as DONE`;
      break;
    }
  }
}

/** Between two deliveries of one event there is a reason. */
function* judgeReasons(facts) {
  for (const [event, deliveries] of facts.byEvent) {
    for (const [index, delivery] of deliveries.entries()) {
      const before = deliveries[index - 1];
      const why = faultOfReason(facts, facts.events.get(event), before, delivery);
      if (why !== undefined) yield `${nameOf(delivery)} (${delivery.reason}): ${why}`;
    }
  }
}

/** Returns why the reason of a delivery is wrong. `before` is the delivery before it, if there is one. */
function faultOfReason(facts, event, before, delivery) {
  const { reason, count, at, atMs, epoch } = delivery;
  const { settleWithinMs } = facts.settings;
  const isFirst = before === undefined || before.epoch !== epoch;
  const from = isFirst ? facts.beginOf(epoch) : before.at;
  const attempts = facts.attemptsOf(delivery.event);
  // The delivery before this one may have been lost on its way.
  const isCountedAnew = isFirst || facts.isCountedAnew(before, delivery);
  const mayBeLost = (isCountedAnew || count > before.count + 1) && facts.losses(from, at) > 0;
  switch (reason) {
    case 'FIRST':
      return isFirst && count === 1 ? undefined : 'it is not the first one';
    case 'SEEK':
      return isFirst && count === 1 && epoch > 0 ? undefined : 'no Seek had moved the subscription back';
    case 'UNPARKED':
      if (facts.isRetried(delivery.event, at) && (isFirst || facts.isUnparkedBetween(delivery.event, from, at))) return;
      return 'nobody had called RetryParked since the delivery before';
    case 'RETRY': {
      const isRetry = ({ token, outcome, settle, isRefused }) =>
        token === before?.token && outcome === 'RETRY' && settle.at < at && !isRefused;
      return attempts.some(isRetry) ? undefined : 'nobody had settled the delivery before as RETRY';
    }
    case 'TIMEOUT':
      if (mayBeLost || atMs >= facts.heldFromMs(before ?? delivery) + settleWithinMs - facts.slackMs) return;
      // The clocks of several gateways step one after another: the delivery before was made before the step of its own.
      if (facts.settings.isShared && facts.timeSteps.some((step) => step.at > from && step.at < at)) return;
      return 'the time of the delivery before was not over';
    case 'CONSUMER_LEFT':
      if (mayBeLost || facts.hasLeftWithKey(event.key, from, at)) return;
      if (before && facts.hasLeft(before, from, at)) return;
      return `the consumer ${before?.consumer} had not left`;
    case 'EARLIER_EVENT': {
      const mayBeSentAgain = (earlier) =>
        facts.losses(from, at) > 0 ||
        facts.trimmed.has(earlier.id) ||
        facts.deliveriesOf(earlier.id).some((again) => again.at > from && again.at < at) ||
        facts.deliveriesOf(earlier.id).some((again) => before !== undefined && facts.hasCrossed(before, again)) ||
        facts.attemptsOf(earlier.id).some(({ outcome, settle }) => outcome === 'RETRY' && settle.until > from) ||
        facts.lastDelivery(earlier.id, at)?.count >= facts.settings.maxDeliveries;
      const causes = facts.earlierOf(event).filter((earlier) => !facts.isDone(earlier.id, from));
      return causes.some(mayBeSentAgain) ? undefined : 'no earlier event of its key was delivered again';
    }
    case 'GATEWAY_RESTARTED': {
      const restarts = facts.restarts.filter((one) => one.at < at && one.until > from);
      if (restarts.some((one) => atMs >= one.atMs + settleWithinMs - facts.slackMs)) return;
      if (facts.settings.isShared && mayHaveMoved(facts, event, before, delivery)) return;
      if (restarts.length === 0) return 'the gateway had not restarted since the delivery before';
      return 'the time after the restart was not over';
    }
    default:
      return 'there is no such reason';
  }
}

/** Whether nobody held the event, so that its partition can have moved to another gateway. */
function mayHaveMoved(facts, event, before, delivery) {
  if (before?.epoch !== delivery.epoch && delivery.count <= 1 + UNSENT) return true;
  const isValid = (reason) => faultOfReason(facts, event, before, { ...delivery, reason }) === undefined;
  return ['RETRY', 'TIMEOUT', 'CONSUMER_LEFT', 'EARLIER_EVENT', 'UNPARKED'].some(isValid);
}

/** Deliveries are counted across restarts, and there are at most `max_deliveries`. */
function* judgeCounts(facts) {
  for (const [event, deliveries] of facts.byEvent) {
    for (const [index, delivery] of deliveries.entries()) {
      const before = deliveries[index - 1];
      const isFirst = before?.epoch !== delivery.epoch;
      const limit = facts.settings.maxDeliveries;
      if (delivery.count > limit) yield `${nameOf(delivery)}: it should be parked after ${limit} deliveries`;
      if (isFirst && delivery.retried) continue;
      const known = isFirst ? 0 : before.count;
      if (delivery.count <= known && !facts.isCountedAnew(before, delivery)) {
        yield `${nameOf(delivery)} (${delivery.reason}) followed after delivery ${known}`;
      }
      const from = isFirst ? facts.beginOf(delivery.epoch) : before.at;
      const most = known + 1 + facts.losses(from, delivery.at) + (facts.settings.isShared && known === 0 ? UNSENT : 0);
      if (delivery.count > most) yield `${nameOf(delivery)}: at most ${most} deliveries are possible`;
    }
  }
}

/** Of one key, one consumer holds events, in the order of the log; an event that is delivered again is alone. */
function* judgeOrder(facts) {
  for (const delivery of facts.deliveries) {
    const event = facts.events.get(delivery.event);
    if (event === undefined || delivery.retried || facts.isInLapse(delivery)) continue;
    for (const earlier of facts.earlierOf(event)) {
      if (facts.mayBeFinished(earlier, delivery.at)) continue;
      const held = facts.lastDelivery(earlier.id, delivery.at);
      if (held !== undefined && facts.isInLapse(held)) continue;
      const count = held === undefined ? 0 : held.count + facts.losses(held.at, delivery.at);
      if (count >= facts.settings.maxDeliveries) continue; // the earlier event may be parked
      const fault = faultOfOrder(delivery, held, `the earlier event ${earlier.id} of its key`);
      if (fault === undefined || (held !== undefined && facts.hasCrossed(delivery, held))) continue;
      yield `${nameOf(delivery)} (${delivery.reason}): ${fault}`;
      break;
    }
  }
}

/** Returns why a delivery breaks the order. `held` is the last delivery of the event `earlier`, if there is one. */
function faultOfOrder(delivery, held, earlier) {
  if (held === undefined) return `${earlier} was not delivered before`;
  if (held.consumer !== delivery.consumer) return `consumer ${held.consumer} held ${earlier}`;
  return held.count > 1 || delivery.count > 1 ? `${earlier} was delivered again, and not settled` : undefined;
}

/** A token is superseded if and only if its delivery is not the last one. */
function* judgeTokens(facts) {
  for (const attempts of facts.attempts.values()) {
    for (const attempt of attempts) {
      const { settle, outcome } = attempt;
      const delivery = facts.byToken.get(attempt.token);
      if (facts.trimmed.has(delivery.event)) continue;
      // The gateway keeps nothing about an event that SkipParked has removed, and accepts DONE with any token.
      if (outcome === 'DONE' && facts.skips.some(({ events }) => delivery.event in events)) continue;
      if (attempt.isAccepted && isSuperseded(facts, delivery, settle.at) && !isSettledSame(facts, attempt)) {
        yield `${nameOf(delivery)} was settled as ${outcome}, although it was not the last one`;
      }
      if (attempt.isRefused && isHeld(facts, delivery, settle)) {
        yield `${nameOf(delivery)} could not be settled as ${outcome}, although the consumer held it`;
      }
    }
  }
  for (const { stream, held, superseded, at, atMs, joined } of facts.streams) {
    if (joined === undefined) continue;
    for (const token of held) {
      const delivery = facts.byToken.get(token);
      if (superseded.includes(token)) {
        if (!isHeld(facts, delivery, { at, atMs, until: joined })) continue;
        yield `stream ${stream} reported ${nameOf(delivery)} as superseded, although the consumer held it`;
      } else if (!facts.settings.isShared && (isSuperseded(facts, delivery, at) || facts.isDone(delivery.event, at))) {
        yield `stream ${stream} did not report that ${nameOf(delivery)} was superseded`;
      }
    }
  }
}

/** Whether it was certain at this moment that the token of a delivery is not valid. */
function isSuperseded(facts, delivery, at) {
  const isLate = facts.late.has(delivery);
  const isLater = (other) =>
    other.at < at && (isLate ? other.epoch === delivery.epoch && other.count > delivery.count : other.at > delivery.at);
  return (
    facts.deliveriesOf(delivery.event).some(isLater) ||
    facts.seeks.some((seek) => seek.at > delivery.at && seek.until < at)
  );
}

/** Whether another delivery of the event may have been settled with the same outcome: DONE or PARK. */
function isSettledSame(facts, { settle, token, event, epoch, outcome }) {
  if (outcome !== 'DONE' && outcome !== 'PARK') return false;
  if (epoch !== facts.epochAt(settle.at)) return false;
  if (outcome === 'PARK' && facts.mayBeParked(event, settle.at)) return true;
  return facts
    .attemptsOf(event)
    .some(
      (other) =>
        other.token !== token &&
        other.outcome === outcome &&
        other.epoch === epoch &&
        other.settle.at < settle.until &&
        !other.isRefused &&
        !isSuperseded(facts, facts.byToken.get(other.token), other.settle.at),
    );
}

/** Whether the consumer certainly held the event of a delivery during a whole call. */
function isHeld(facts, delivery, { at, atMs, until }) {
  const event = facts.events.get(delivery.event);
  if (event === undefined || facts.trimmed.has(event.id) || facts.isSoughtBetween(delivery.at, until)) return false;
  if (facts.late.has(delivery)) return false;
  if (facts.deliveriesOf(event.id).some((other) => other.at > delivery.at && other.at < until)) return false;
  if (facts.hasLeft(delivery, delivery.at, until)) return false;
  const mayBeSettled = ({ token, outcome, settle }) =>
    token === delivery.token && outcome !== 'EXTEND' && settle.at !== at && settle.at < until;
  if (facts.attemptsOf(event.id).some(mayBeSettled)) return false;
  // The consumer also loses the event when an earlier one of its key must be delivered again.
  const before = delivery.retried ? [] : facts.earlierOf(event).filter(({ id }) => !facts.isPassed(id, at));
  return [event, ...before].every(({ id }) => !mayBeAgain(facts, id, { delivery, at, atMs }));
}

/**
 * Whether an event may have been given back to the subscription after `delivery` was sent: by RETRY, or because its time
 * is over.
 */
function mayBeAgain(facts, event, { delivery, at, atMs }) {
  // The delivery may have been on its way when the call ended.
  const isRetry = ({ outcome, settle }) => outcome === 'RETRY' && settle.atMs > delivery.atMs - facts.slackMs;
  if (facts.attemptsOf(event).some(isRetry)) return true;
  if (facts.isDone(event, at)) return false;
  const last = facts.lastDelivery(event, at);
  return last === undefined || atMs >= facts.heldFromMs(last) + facts.settings.settleWithinMs - facts.slackMs;
}

/** Parked events stay parked, and have a reason. */
function* judgeParked(facts) {
  for (const { at, until, parked } of facts.listings) {
    if (parked === undefined) continue;
    for (const [event, { count, reason }] of Object.entries(parked)) {
      const isParking = ({ outcome, settle }) =>
        outcome === 'PARK' && (settle.parkReason ?? '') === reason && settle.at < until;
      const isAtLimit = reason.startsWith('max_deliveries') && count >= facts.settings.maxDeliveries;
      if (isAtLimit || facts.attemptsOf(event).some(isParking)) continue;
      yield `${event} is parked after ${count} deliveries for no reason: ${reason}`;
    }
    for (const { event, since } of knownAsParked(facts, at)) {
      if (event in parked || facts.trimmed.has(event) || facts.isUnparkedBetween(event, since, until)) continue;
      yield `${event} was parked, and the list of parked events does not have it`;
    }
  }
}

/** The events that were certainly parked at a moment before `at`, which is `since`. */
function* knownAsParked(facts, at) {
  const earlier = facts.listings.findLast(({ until, parked }) => until < at && parked !== undefined);
  for (const event of Object.keys(earlier?.parked ?? {})) yield { event, since: earlier.at };
  for (const [event, attempts] of facts.attempts) {
    const parking = attempts.findLast(
      ({ outcome, settle, isAccepted }) => outcome === 'PARK' && isAccepted && settle.until < at,
    );
    if (parking !== undefined) yield { event, since: parking.settle.at };
  }
}

/** At the end, each event is settled, parked, or passed. What retention took before that was reported. */
function* judgeLoss(facts) {
  const { drained } = facts;
  if (!drained.isDrained) yield 'the consumers could not settle everything';
  const listed = facts.listings.findLast(({ parked }) => parked !== undefined)?.parked ?? {};
  const epoch = facts.epochAt(Infinity);
  const isFinished = ({ id }) =>
    facts.skips.some(({ events, notParked = [] }) => id in events && !notParked.includes(id)) ||
    facts.isPassed(id, Infinity) ||
    facts.attemptsOf(id).some((attempt) => attempt.outcome === 'DONE' && attempt.epoch === epoch && !attempt.isRefused);
  for (const event of facts.events.values()) {
    if (!event.passes || facts.trimmed.has(event.id) || event.id in listed || isFinished(event)) continue;
    yield `${event.id} is lost: nobody settled it as DONE, and it is not parked`;
  }
  for (const { at, events } of facts.retentions) {
    const isReported = facts.streams.some(({ ending, until }) => until > at && ending?.endsWith('EVENTS_TRIMMED'));
    // The error can be lost with the stream of the consumer that should receive it.
    const mayBeForgotten =
      facts.restarts.some((restart) => restart.at > at) ||
      facts.streams.some((stream) => stream.until > at && stream.until < facts.drained.at);
    const lost = events
      .map((id) => facts.events.get(id))
      .filter((event) => event.passes && !isFinished(event) && !facts.mayBeParked(event.id, Infinity));
    if (lost.length === 0 || isReported || mayBeForgotten) continue;
    yield `retention deleted ${lost.length} unsettled events such as ${lost[0].id}, and no consumer got an error`;
  }
}
