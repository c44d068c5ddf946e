// The part of the control interface for webhooks, under /_simulator/webhooks/.
import { FaultError } from './fault_list.mjs';

/**
 * Returns the response to a sent event. With `wait`, waits until the event's deliveries are over, and adds them to the
 * response.
 */
async function sent({ eventId, targets, done }, wait) {
  return wait ? { eventId, targets, deliveries: await done } : { eventId, targets };
}

function loadOf({ loads }, { load }) {
  if (loads[Number(load)] === undefined) throw new FaultError(`there is no load ${load}`);
  return loads[Number(load)];
}

/** @type {Record<string, (simulator: import('./server.mjs').Simulator, body: any, query: object) => any>} */
const ROUTES = {
  'GET endpoints': ({ webhooks }) => ({ endpoints: webhooks.endpoints() }),
  'PUT endpoints': ({ webhooks }, { organizationId = webhooks.organizationId, urls } = {}) => {
    webhooks.setEndpoints(organizationId, urls);
    return { endpoints: webhooks.endpoints() };
  },

  'POST events': ({ webhooks }, { wait = false, ...event } = {}) => sent(webhooks.send(event), wait),
  'POST events/balance': ({ webhooks }, { wait = false, ...event } = {}) => sent(webhooks.sendBalance(event), wait),
  'POST events/transaction': ({ webhooks }, { wait = false, ...event } = {}) =>
    sent(webhooks.sendTransaction(event), wait),

  'GET deliveries': ({ webhooks }) => ({ deliveries: webhooks.deliveries() }),
  'DELETE deliveries': ({ webhooks }) => {
    webhooks.clearDeliveries();
    return {};
  },

  'GET keys': ({ webhooks }) => ({ keys: webhooks.keys.list() }),
  'POST keys': ({ webhooks: { keys } }, wanted = {}) => {
    if ('jwk' in wanted) keys.publish(wanted.jwk, { first: wanted.first });
    else if (wanted.broken === true) keys.publishBroken();
    else keys.add(wanted);
    return { keys: keys.list() };
  },
  'DELETE keys': ({ webhooks: { keys } }, body, { kid }) => {
    keys.drop(kid);
    return { keys: keys.list() };
  },

  'POST load': ({ webhooks }, wanted) => {
    webhooks.sendMany(wanted);
    return { load: webhooks.loads.length - 1 };
  },
  'GET load': ({ webhooks }, body, { load, acknowledged, timeoutMs }) => {
    const number = (text) => (text === undefined ? undefined : Number(text));
    const wanted = { acknowledged: number(acknowledged), timeoutMs: number(timeoutMs) };
    return loadOf(webhooks, { load }).waitFor(wanted);
  },
  'DELETE load': ({ webhooks }, body, query) => loadOf(webhooks, query).stop(),
};

export const webhookRoutes = Object.fromEntries(
  Object.entries(ROUTES).map(([name, route]) => [name.replace(' ', ' webhooks/'), route]),
);
