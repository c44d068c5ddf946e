// Layers between consumers and the gateway that break promises, so that a test shows that the judge finds it. Each
// function returns options for FileRound.make().
import { setTimeout as pause } from 'node:timers/promises';

/** The time after which a settle is sent that was answered too early. */
const LATE_MS = 150;

/** Answers the first settle of a delivery as DONE before it is sent. A gateway that is killed meanwhile never gets it. */
function answersEarly() {
  const unsettled = new Set();
  let gateways = 0;
  const deliver = (delivery) => {
    unsettled.add(delivery.token);
    return delivery;
  };
  const settle = async (request, send) => {
    const { tokens, outcome } = request;
    const isFirst = tokens.every((token) => unsettled.has(token));
    for (const token of tokens) unsettled.delete(token);
    if (outcome !== 'SETTLE_OUTCOME_DONE' || !isFirst) return send(request);
    const gateway = gateways;
    pause(LATE_MS)
      .then(() => gateway === gateways && send(request))
      .catch(() => {});
    return {};
  };
  return { layer: { deliver, settle, onRestart: () => (gateways += 1) } };
}

/** The subscription has no order, although its consumers expect one. */
const hasNoOrder = () => ({ orderBy: 'none', judgedOrderBy: 'organization' });

/** Counts deliveries in memory only: a restart forgets the counts. */
function forgetsCounts() {
  const counts = new Map();
  const deliver = (delivery) => {
    const id = delivery.event.event_id;
    counts.set(id, (counts.get(id) ?? 0) + 1);
    return { ...delivery, delivery_count: counts.get(id) };
  };
  return { layer: { deliver, onRestart: () => counts.clear() } };
}

/** Removes parked events from the subscription, although nobody has asked for it. */
function dropsParked() {
  const beforeList = async (round) => {
    const { parked_events: events = [] } = await round.call('ListParked');
    if (events.length > 0) await round.call('SkipParked', { cursors: events.map(({ event }) => event.cursor) });
  };
  return { layer: { beforeList } };
}

/** Accepts an earlier token of an event for the newest one. */
function acceptsEarlierTokens() {
  const events = new Map();
  const newest = new Map();
  const deliver = (delivery) => {
    events.set(delivery.token, delivery.event.event_id);
    newest.set(delivery.event.event_id, delivery.token);
    return delivery;
  };
  const settle = async (request, send) => {
    await send({ ...request, tokens: request.tokens.map((token) => newest.get(events.get(token))) });
    return {};
  };
  return { layer: { deliver, settle } };
}

/** The layers, by what they do. */
export const FAULTY_LAYERS = {
  'answers a settle before it is durable': answersEarly,
  'has no order by key': hasNoOrder,
  'counts deliveries in memory only': forgetsCounts,
  'drops parked events': dropsParked,
  'accepts an earlier token': acceptsEarlierTokens,
};
