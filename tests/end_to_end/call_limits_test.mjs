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
    assert.deepEqual(error, { code: 'RESOURCE_EXHAUSTED', domain: 'stampgate', reason: 'TOO_MANY_CALLS', metadata: {} });
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
  await until(() => isSent(a).then(() => true, () => false), 'a call of a is accepted after another has ended');
  await isSent(c);
  for (const subscriber of [...ofA, ...ofB]) await subscriber.leave();
});

test('the requests of calls in flight are limited in size for each caller and in all', { timeout }, async (t) => {
  const calls = { max_in_flight_bytes: 7 * MEBIBYTE, max_in_flight_bytes_per_caller: 4 * MEBIBYTE };
  const { simulator, a, b, c } = await startWith(t, { calls });
  const { method, request } = SUBMIT;
  const parameters = { organization_name: 'x'.repeat(MEBIBYTE - 200) };
  const ofAlmostAMebibyte = [method, { ...request, parameters }];
  const held = [];
  const hold = async (caller, count) => {
    const before = simulator.stats().held;
    simulator.addFaults(Array.from({ length: count }, () => HELD));
    for (let i = 0; i < count; ++i) held.push(caller.call(...ofAlmostAMebibyte).catch(described));
    await simulator.waitFor({ held: before + count });
  };
  await hold(a, 4);
  const ofA = await refusedWith(a, ...ofAlmostAMebibyte);
  assert.equal(ofA.reason, 'TOO_MANY_CALLS');
  assert.match(ofA.message, /^caller a may have at most 4194304 bytes of requests at the same time; nothing was sent/);
  await hold(b, 3);
  const inAll = await refusedWith(c, ...ofAlmostAMebibyte);
  assert.match(inAll.message, /^the gateway may have at most 7340032 bytes of requests at the same time; nothing was/);
  assert.equal(simulator.stats().held, 7);
  simulator.release();
  await Promise.all(held);
  await hold(a, 1);
  simulator.release();
  await Promise.all(held);
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

for (const [method, most] of [
  ['ReadEventBody', 3], // pieces of 1 MiB
  ['GetEvent', 1], // about 2 MiB, and the same again in decoded form
  ['ListEvents', 1],
]) {
  test(`events of ${method} that callers do not receive are limited for each caller and in all`, { timeout }, async (t) => {
    const events = { max_unsent_bytes: 2 * 4 * MEBIBYTE, max_unsent_bytes_per_caller: 4 * MEBIBYTE };
    const { simulator, gateway } = await startWith(t, { events });
    const { eventId: event_id } = await deliver(simulator, { json: { type: 'a', text: 'x'.repeat(2.5 * MEBIBYTE) } });
    const request = method === 'ListEvents' ? { end: 'LOG_END_EARLIEST' } : { event_id };
    const begin = (name) =>
      HeldCall.start(gateway, `EventService/${method}`, request, { authorization: `Bearer ${tokenOf(name)}` });
    const held = [];
    const fill = async (name) => {
      for (;;) {
        const call = await begin(name);
        if (call.status !== undefined) return call;
        held.push(call);
      }
    };
    const refused = await fill('a');
    assert.equal(refused.status, String(code.RESOURCE_EXHAUSTED));
    assert.match(decodeURIComponent(refused.trailers['grpc-message']), /^caller a may have at most 4194304 bytes of events/);
    assert.equal(held.length, most);
    await fill('b');
    assert.equal(held.length, 2 * most);
    const last = await fill('c');
    assert.match(decodeURIComponent(last.trailers['grpc-message']), /^the gateway may have at most 8388608 bytes of events/);
    // A caller that reads to the end makes space for its next call.
    assert.ok((await held[0].finish()) > 2 * MEBIBYTE);
    await until(async () => {
      const next = await begin('a');
      held.push(next);
      return next.status === undefined;
    }, 'a further call is accepted');
    for (const call of held) call.leave();
  });
}
