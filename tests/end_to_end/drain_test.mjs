// When the gateway drains under load, every call ends with a response, with upstream's error or with the gateway's
// error.
//
// With STAMPGATE_LONG=1 the test uses 60 drains instead of 4.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { code, connect, methods } from '../clients/gateway.mjs';
import { ORGANIZATION, identifier } from '../simulator/testing.mjs';
import { ADMIN, metricsOf } from './admin_port.mjs';
import { startCalls } from './call_loops.mjs';
import { prepareEventStack } from './event_stack.mjs';
import { described } from './failures.mjs';
import { HANG_MS, startStack } from './harness.mjs';
import { LONG, until } from './processes.mjs';
import { LATEST } from './subscriber.mjs';

const ROUNDS = LONG ? 60 : 4;
const TIMEOUT_MS = LONG ? 60 * HANG_MS : 12 * HANG_MS;
const CONNECTIONS = 4;
const LOOPS_OF_EACH = 4;
const SUBSCRIBERS_OF_EACH = 50;

const QUERY = ['PolicyService/GetPolicy', { organization_id: ORGANIZATION, policy_id: identifier(6) }];
const SUBMIT = [
  'OrganizationService/UpdateOrganizationName',
  { organization_id: ORGANIZATION, parameters: { organization_name: 'n' } },
];
const SUBMIT_PATH = '/public/v1/submit/update_organization_name';

const nameOf = (number) => Object.keys(code).find((name) => code[name] === number);

/**
 * Counts, for each method, how the calls ended: "CODE REASON", or "CODE" alone if the client's library created the
 * status.
 */
class Endings {
  #counts = new Map();

  add(method, ending, count = 1) {
    const id = `${method} ${ending}`;
    this.#counts.set(id, (this.#counts.get(id) ?? 0) + count);
  }

  get(method, ending) {
    return this.#counts.get(`${method} ${ending}`) ?? 0;
  }

  toJSON() {
    return Object.fromEntries([...this.#counts].sort());
  }
}

/**
 * Repeats a call until the client's library can no longer connect. After three refusals it pauses between calls,
 * because the simulator runs in this process and needs time to respond.
 */
async function repeat(method, callOnce, endings) {
  for (let refusals = 0; ;) {
    const error = await callOnce().then(
      () => null,
      (thrown) => thrown,
    );
    const ending = error === null ? 'OK' : [nameOf(error.code), error.info?.reason].filter(Boolean).join(' ');
    endings.add(method, error?.wasAccepted ? `${ending} after its start` : ending);
    if (ending === 'UNAVAILABLE') return;
    refusals += ending === 'UNAVAILABLE SHUTTING_DOWN' ? 1 : 0;
    if (refusals >= 3) await pause(200);
  }
}

/** Subscribes repeatedly, each time from the cursor in the last error. */
function subscribe(gateway, client, endings, onStart) {
  const watcher = Object.assign(Object.create(gateway), { client });
  let start = LATEST;
  const subscribeOnce = async () => {
    let wasAccepted = false;
    try {
      for await (const { cursor } of watcher.stream('EventService/Subscribe', start)) {
        start = { cursor };
        wasAccepted = true;
        onStart();
      }
    } catch (error) {
      if (error.info?.reason === 'SHUTTING_DOWN') {
        assert.equal(error.info.metadata.cursor, start.cursor, 'the error has the cursor from which to resume');
        assert.ok(error.retryInfo, 'the error states when to retry');
      }
      throw Object.assign(error, { wasAccepted });
    }
  };
  return repeat('Subscribe', subscribeOnce, endings);
}

/**
 * Makes the same calls from C++, whose library handles ended connections differently. Resolves when the program ends.
 */
async function loadFromCpp(gateway, [method, request], endings, onAnswer) {
  const calls = await startCalls(gateway, methods.get(method), request, 2);
  onAnswer();
  for (const { name, reason, count } of await calls.ended) {
    endings.add(`C++ ${method}`, [name, reason].filter(Boolean).join(' '), count);
  }
}

test(
  'when the gateway drains under load, every call ends with a response or with a reason',
  { timeout: TIMEOUT_MS },
  async (t) => {
    const stack = await prepareEventStack(t);
    const { simulator } = stack;
    const endings = new Endings();
    for (let round = 0; round < ROUNDS; ++round) {
      const gateway = await stack.start();
      const clients = Array.from({ length: CONNECTIONS }, () => connect(gateway.address));
      let subscribed = 0;
      let cppCalls = 0;
      const loads = [
        loadFromCpp(gateway, SUBMIT, endings, () => (cppCalls += 1)),
        loadFromCpp(gateway, QUERY, endings, () => (cppCalls += 1)),
      ];
      const before = endings.get('Submit', 'OK');
      for (const client of clients) {
        const caller = Object.assign(Object.create(gateway), { client });
        for (let loop = 0; loop < LOOPS_OF_EACH; ++loop) {
          loads.push(repeat('Submit', () => caller.call(...SUBMIT), endings));
          loads.push(repeat('Query', () => caller.call(...QUERY), endings));
        }
        for (let i = 0; i < SUBSCRIBERS_OF_EACH; ++i) {
          let isFirst = true;
          const onStart = () => {
            subscribed += isFirst ? 1 : 0;
            isFirst = false;
          };
          loads.push(subscribe(gateway, client, endings, onStart));
        }
      }
      const isLoaded = () =>
        subscribed === CONNECTIONS * SUBSCRIBERS_OF_EACH && cppCalls === 2 && endings.get('Submit', 'OK') > before + 50;
      await until(isLoaded, 'all loads are under way');
      gateway.child.kill('SIGTERM');
      await Promise.all(loads);
      assert.deepEqual(await gateway.exited, { status: 0, signal: null }, gateway.output);
      for (const client of clients) client.close();
    }
    t.diagnostic(JSON.stringify(endings, null, 1));

    const counts = endings.toJSON();
    const allowed = /^.* (OK|UNAVAILABLE|UNAVAILABLE SHUTTING_DOWN|UNAVAILABLE SHUTTING_DOWN after its start)$/;
    assert.deepEqual(
      Object.keys(counts).filter((ending) => !allowed.test(ending)),
      [],
    );
    const subscriptions = ROUNDS * CONNECTIONS * SUBSCRIBERS_OF_EACH;
    assert.equal(endings.get('Subscribe', 'UNAVAILABLE SHUTTING_DOWN after its start'), subscriptions);
    // Callers got a response to every submit that upstream received. The gateway did not send upstream a call that ended
    // together with its connection.
    const answered = endings.get('Submit', 'OK') + endings.get(`C++ ${SUBMIT[0]}`, 'OK');
    assert.equal(simulator.stats().paths[SUBMIT_PATH].requests, answered);
  },
);

test(
  "calls that wait within upstream's rates are sent during a drain, or are refused before it ends",
  { timeout: HANG_MS },
  async (t) => {
    const admission = { rates: [{ requests: 2, per: '1s' }], max_wait: '30s' };
    const { gateway, simulator } = await startStack(t, {
      config: { admin: ADMIN, admission, calls: { drain_grace: '3s' } },
    });
    const calls = Array.from({ length: 12 }, () => gateway.call(...QUERY).then(() => 'sent', described));
    const waiting = async () => (await metricsOf(gateway)).get('stampgate_admission_waiting_calls{class="query"}');
    await until(async () => (await waiting()) >= calls.length - 2, 'most calls wait');
    const sentBefore = simulator.requests().length;
    gateway.child.kill('SIGTERM');
    const outcomes = await Promise.all(calls);
    const refused = outcomes.filter((outcome) => outcome.reason === 'SHUTTING_DOWN');
    const sent = outcomes.length - refused.length;
    assert.ok(sent > sentBefore, `${sent} calls were sent, ${sentBefore} of them before the drain`);
    assert.ok(refused.length > 0);
    for (const { code: status, retryMs } of refused) {
      assert.equal(status, 'UNAVAILABLE');
      assert.ok(retryMs > 0, `${retryMs}`);
    }
    assert.equal(simulator.requests().length, sent);
    assert.deepEqual(await gateway.exited, { status: 0, signal: null }, gateway.output);
  },
);
