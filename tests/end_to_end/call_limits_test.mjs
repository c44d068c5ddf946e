// The limits of what callers hold at the same time: calls in flight, calls that read events, and events that they do not
// receive.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { code } from '../clients/gateway.mjs';
import { ORGANIZATION, identifier } from '../simulator/testing.mjs';
import { metricsOf } from './admin_port.mjs';
import { deliver } from './event_stack.mjs';
import { SUBMIT, described } from './failures.mjs';
import { HANG_MS, auditConfig, scratch, startStack } from './harness.mjs';
import { HeldCall } from './held_call.mjs';
import { asCaller, callerOf, tokenOf } from './policy_callers.mjs';
import { until } from './processes.mjs';
import { LATEST, Subscriber } from './subscriber.mjs';

const timeout = HANG_MS;
const QUERY = ['PolicyService/GetPolicy', { organization_id: ORGANIZATION, policy_id: identifier(1) }];
const GRANTS = [{ classes: ['query', 'write', 'events'], all_organizations: true }];
const MEBIBYTE = 1 << 20;
/** Holds a request at upstream until the test releases it. */
const HELD = { kind: 'slow', untilReleased: true };

/** A stack whose gateway knows the callers "a", "b" and "c". */
async function startWith(t, { events, ...config }) {
  const callers = ['a', 'b', 'c'].map((name) => callerOf(name, GRANTS));
  const admin = { listen_address: '127.0.0.1:0' };
  const stack = await startStack(t, { events: { events }, config: { callers, admin, ...config } });
  const [a, b, c] = callers.map(({ name }) => asCaller(stack.gateway, name));
  return { ...stack, a, b, c };
}

const refusedWith = async (caller, method, request) => described(await caller.refusal(method, request));
/** The error of a subscription that ends before its first message. */
const refusedSubscription = (caller) => new Subscriber(caller, LATEST).failure();

/** Checks that the query is not refused. Whether upstream has the policy does not matter. */
const isSent = async (caller) => {
  const { domain } = await caller.call(...QUERY).then(() => ({ domain: 'upstream' }), described);
  assert.equal(domain, 'upstream');
};

test('calls in flight are limited for each caller and in all', { timeout }, async (t) => {
  const calls = { max_in_flight: 4, max_in_flight_per_caller: 2 };
  const audit = await auditConfig(scratch(t));
  const { simulator, gateway, a, b, c } = await startWith(t, { calls, audit });
  const ofA = [await Subscriber.start(a), await Subscriber.start(a)];
  const before = simulator.stats().requests;
  const isRefused = ({ retryMs, message, ...error }, holder, most) => {
    assert.deepEqual(error, {
      code: 'RESOURCE_EXHAUSTED',
      domain: 'stampgate',
      reason: 'TOO_MANY_CALLS',
      metadata: {},
    });
    assert.equal(message, `${holder} may have at most ${most} calls at the same time; nothing was sent upstream`);
    assert.equal(retryMs, 1000);
  };
  isRefused(await refusedWith(a, ...QUERY), 'caller a', 2);
  isRefused(await refusedWith(a, 'EventService/GetEvent', { event_id: 'x' }), 'caller a', 2);
  isRefused(await refusedSubscription(a), 'caller a', 2);
  assert.equal(simulator.stats().requests, before);
  await isSent(b);

  const ofB = [await Subscriber.start(b), await Subscriber.start(b)];
  isRefused(await refusedWith(c, ...QUERY), 'the gateway', 4);
  isRefused(await refusedWith(gateway, ...QUERY), 'the gateway', 4);
  isRefused(await refusedSubscription(c), 'the gateway', 4);
  const errors = (await metricsOf(gateway)).get('stampgate_call_errors_total{reason="TOO_MANY_CALLS"}');
  assert.equal(errors, 6);

  await ofA.pop().leave();
  await until(
    () =>
      isSent(a).then(
        () => true,
        () => false,
      ),
    'a call of a is accepted after another has ended',
  );
  await isSent(c);
  for (const subscriber of [...ofA, ...ofB]) await subscriber.leave();
});

test('the memory that the calls of a connection hold is limited', { timeout }, async (t) => {
  const { simulator, a } = await startWith(t, { memory: { max_bytes_per_connection: 32 * MEBIBYTE } });
  const { method, request } = SUBMIT;
  const parameters = { organization_name: 'x'.repeat(MEBIBYTE - 200) };
  const large = [method, { ...request, parameters }];
  simulator.addFaults(Array.from({ length: 40 }, () => HELD));
  const held = [];
  // Each of these calls holds about 6 MiB: what has arrived, the request, the body, and the memory of its response.
  let refused;
  for (let i = 0; i < 20 && refused === undefined; ++i) {
    const before = simulator.stats().held;
    const call = a.call(...large).catch(described);
    const isHeld = simulator.waitFor({ held: before + 1 });
    refused = await Promise.race([call, isHeld.then(() => undefined)]);
    if (refused === undefined) held.push(call);
  }
  assert.equal(refused.reason, 'TOO_MUCH_MEMORY');
  assert.match(refused.message, /the limit is memory\.max_bytes_per_connection, 33554432 bytes$/);
  assert.ok(held.length >= 4 && held.length <= 5, `${held.length} calls`);
  // Small calls still have memory.
  simulator.clearFaults();
  await a.call(method, request);
  // Each of the held calls gets its response, which is three times as large as its request.
  simulator.release();
  for (const response of await Promise.all(held)) assert.equal(response.reason, undefined);
  await a.call(...large);
});

test('a caller cannot take the subscriptions of other callers', { timeout }, async (t) => {
  const { a, b } = await startWith(t, { events: { max_subscribers: 3, max_subscribers_per_caller: 2 } });
  const subscribers = [await Subscriber.start(a), await Subscriber.start(a)];
  const { code: name, reason, message } = await refusedSubscription(a);
  assert.deepEqual([name, reason], ['RESOURCE_EXHAUSTED', 'TOO_MANY_SUBSCRIBERS']);
  assert.equal(message, 'caller a may have at most 2 subscriptions at the same time');
  subscribers.push(await Subscriber.start(b));
  for (const subscriber of subscribers) await subscriber.leave();
});

for (const [method, least] of [
  ['ReadEventBody', 10], // pieces of 1 MiB
  ['GetEvent', 3], // about 2 MiB, and the same again in decoded form
  ['ListEvents', 3],
]) {
  test(`events of ${method} that a caller does not receive are limited`, { timeout }, async (t) => {
    const { simulator, gateway } = await startWith(t, { memory: { max_bytes_per_identity: 16 * MEBIBYTE } });
    const { eventId: event_id } = await deliver(simulator, { json: { type: 'a', text: 'x'.repeat(2.5 * MEBIBYTE) } });
    const request = method === 'ListEvents' ? { end: 'LOG_END_EARLIEST' } : { event_id };
    const begin = () =>
      HeldCall.start(gateway, `EventService/${method}`, request, { authorization: `Bearer ${tokenOf('a')}` });
    const held = [];
    let refused;
    while (refused === undefined) {
      const call = await begin();
      if (call.status === undefined) held.push(call);
      else refused = call;
    }
    assert.equal(refused.status, String(code.RESOURCE_EXHAUSTED));
    const message = decodeURIComponent(refused.trailers['grpc-message']);
    assert.match(message, /the limit is memory\.max_bytes_per_(connection|identity), 16777216 bytes$/);
    assert.ok(held.length >= least && held.length <= 16, `${held.length} calls`);
    // A caller that reads to the end makes space for its next call.
    assert.ok((await held[0].finish()) > 2 * MEBIBYTE);
    await until(async () => {
      const next = await begin();
      held.push(next);
      return next.status === undefined;
    }, 'a further call is accepted');
    for (const call of held) call.leave();
  });
}
