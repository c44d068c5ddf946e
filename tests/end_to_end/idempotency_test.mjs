// Upstream carries out a submit with an idempotency key at most once, however often the caller repeats it.
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { copyFileSync, existsSync } from 'node:fs';
import { join } from 'node:path';
import { after, beforeEach, describe, test } from 'node:test';
import { code } from '../clients/gateway.mjs';
import { Machine } from '../machine/machine.mjs';
import { startSimulator } from '../simulator/server.mjs';
import { ORGANIZATION } from '../simulator/testing.mjs';
import { Gateway, HANG_MS, WITHOUT_RETRIES, plainConfig, run, scratch, startGateway, startStack } from './harness.mjs';

const METHOD = 'OrganizationService/UpdateOrganizationName';

const requestOf = (idempotency_key, organization_name = 'New name', more = {}) => ({
  organization_id: ORGANIZATION,
  parameters: { organization_name },
  idempotency_key,
  ...more,
});

const bodiesOf = (simulator) => simulator.requests().map(({ body }) => body);

/** Starts a simulator and a gateway with a store. The test can end the gateway in any way, and sets its clock. */
async function startKeyed(t) {
  const folder = scratch(t);
  const data = scratch(t);
  const simulator = await startSimulator();
  const machine = new Machine(scratch(t), data);
  const config = {
    ...plainConfig(simulator, folder),
    store: { sqlite: { folder: data } },
    admission: WITHOUT_RETRIES,
  };
  const stack = {
    simulator,
    machine,
    data,
    async start() {
      stack.gateway = await Gateway.start(config, { folder, env: machine.env });
      return stack.gateway;
    },
    /** Advances the clocks of the gateway and of the simulator. */
    moveClock(ms) {
      machine.clockOffsetMs += ms;
      simulator.change({ clockOffsetMs: machine.clockOffsetMs });
    },
  };
  await stack.start();
  t.after(async () => {
    await stack.gateway.stop();
    await simulator.close();
    machine.close();
  });
  return stack;
}

describe('a key', { timeout: HANG_MS }, async () => {
  const data = scratch({ after });
  const { simulator, gateway } = await startStack({ after }, { config: { store: { sqlite: { folder: data } } } });

  beforeEach(() => simulator.reset());

  test('makes a repeated submit send the same bytes and return the same activity', async () => {
    const request = requestOf(randomUUID());
    const first = await gateway.call(METHOD, request);
    const second = await gateway.call(METHOD, request);
    assert.deepEqual(second, first);
    const [one, other] = bodiesOf(simulator);
    assert.equal(other, one);
    assert.ok(!one.includes(request.idempotency_key));
  });

  test('works for concurrent calls', async () => {
    const request = requestOf(randomUUID());
    const calls = await Promise.all(Array.from({ length: 20 }, () => gateway.call(METHOD, request)));
    assert.equal(new Set(calls.map(({ activity }) => activity.id)).size, 1);
    assert.equal(new Set(bodiesOf(simulator)).size, 1);
  });

  test('distinguishes submits with equal parameters', async () => {
    const [one, other] = await Promise.all(
      [randomUUID(), randomUUID()].map((key) => gateway.call(METHOD, requestOf(key))),
    );
    assert.notEqual(one.activity.id, other.activity.id);
  });

  test("can be combined with the caller's timestamp", async () => {
    const request = requestOf(randomUUID(), 'n', { timestamp_ms: String(Date.now() - 1000) });
    const first = await gateway.call(METHOD, request);
    assert.deepEqual(await gateway.call(METHOD, request), first);
    assert.equal(JSON.parse(bodiesOf(simulator)[0]).timestampMs, request.timestamp_ms);
  });

  test('is refused for another request, and nothing is sent', async () => {
    const key = randomUUID();
    await gateway.call(METHOD, requestOf(key));
    simulator.clearRequests();
    const others = [
      [METHOD, requestOf(key, 'Another name')],
      [METHOD, requestOf(key, 'New name', { generate_app_proofs: true })],
      [METHOD, requestOf(key, 'New name', { timestamp_ms: '1' })],
      [
        'OrganizationService/DeleteSubOrganization',
        { organization_id: ORGANIZATION, parameters: {}, idempotency_key: key },
      ],
    ];
    for (const [method, request] of others) {
      const error = await gateway.refusal(method, request);
      assert.deepEqual([error.code, error.info.reason], [code.INVALID_ARGUMENT, 'IDEMPOTENCY_KEY_REUSED']);
    }
    assert.deepEqual(bodiesOf(simulator), []);
  });

  test('is refused if it is not 1 to 128 visible ASCII characters', async () => {
    for (const key of ['', 'a b', 'é', 'x'.repeat(129)]) {
      const error = await gateway.refusal(METHOD, requestOf(key));
      assert.equal(error.code, code.INVALID_ARGUMENT);
      assert.deepEqual(
        error.badRequest.field_violations.map(({ field }) => field),
        ['idempotency_key'],
      );
    }
  });

  test('returns the activity of a submit whose response was lost', async () => {
    const request = requestOf(randomUUID());
    simulator.addFaults([{ kind: 'readAndClose' }]);
    const error = await gateway.refusal(METHOD, request);
    assert.deepEqual([error.code, error.info.reason], [code.UNKNOWN, 'OUTCOME_UNKNOWN']);
    const { activity } = await gateway.call(METHOD, request);
    assert.equal(activity.status, 'ACTIVITY_STATUS_COMPLETED');
    assert.equal(new Set(bodiesOf(simulator)).size, 1);
  });

  test('of a submit that was never sent gets the timestamp of the next try', async (t) => {
    // No server listens on this port.
    const away = await startGateway(t, { url: 'http://127.0.0.1:9' }, { store: { sqlite: { folder: scratch(t) } } });
    const request = requestOf(randomUUID());
    for (let i = 0; i < 2; i += 1) {
      const error = await away.refusal(METHOD, request);
      assert.deepEqual([error.code, error.info.reason], [code.UNAVAILABLE, 'UPSTREAM_UNREACHABLE']);
    }
  });

  test('is refused without a store', async (t) => {
    const poor = await startGateway(t, simulator);
    const error = await poor.refusal(METHOD, requestOf(randomUUID()));
    assert.deepEqual([error.code, error.info.reason], [code.FAILED_PRECONDITION, 'IDEMPOTENCY_NOT_CONFIGURED']);
    assert.deepEqual(bodiesOf(simulator), []);
  });
});

/**
 * Restores the key database from a copy. Returns the request of a submit that was carried out after the copy was made.
 */
async function putBack(stack) {
  const file = join(stack.data, 'calls.db');
  await stack.gateway.stop();
  copyFileSync(file, `${file}.copy`);
  await stack.start();
  const forgotten = requestOf(randomUUID(), 'forgotten');
  await stack.gateway.call(METHOD, forgotten);
  await stack.gateway.stop();
  copyFileSync(`${file}.copy`, file);
  stack.machine.settle();
  assert.ok(!existsSync(`${file}-wal`));
  return forgotten;
}

describe('a key still works after', { timeout: 2 * HANG_MS }, () => {
  test('the process has ended in any way', async (t) => {
    const stack = await startKeyed(t);
    const request = requestOf(randomUUID());
    const first = await stack.gateway.call(METHOD, request);
    for (const signal of ['SIGTERM', 'SIGKILL']) {
      await stack.gateway.stop(signal);
      await stack.start();
      assert.deepEqual(await stack.gateway.call(METHOD, request), first);
    }
    assert.equal(new Set(bodiesOf(stack.simulator)).size, 1);
  });

  test('the hour in which upstream accepts the bytes: the gateway returns the stored outcome', async (t) => {
    const stack = await startKeyed(t);
    const done = requestOf(randomUUID());
    const { activity } = await stack.gateway.call(METHOD, done);
    const refused = requestOf(randomUUID(), 'refused');
    stack.simulator.addFaults([{ kind: 'error', code: 'PERMISSION_DENIED' }]);
    const refusal = await stack.gateway.refusal(METHOD, refused);
    const lost = requestOf(randomUUID(), 'lost');
    stack.simulator.addFaults([{ kind: 'readAndClose' }]);
    const { info } = await stack.gateway.refusal(METHOD, lost);

    const timed = requestOf(randomUUID(), 'timed', { timestamp_ms: String(Date.now()) });
    const { activity: timedActivity } = await stack.gateway.call(METHOD, timed);
    const large = requestOf(randomUUID(), 'large');
    stack.simulator.addFaults([{ kind: 'mutate', set: { '/padding': JSON.stringify('x'.repeat(5_000_000)) } }]);
    const tooLarge = await stack.gateway.refusal(METHOD, large);
    assert.equal(tooLarge.info.reason, 'ANSWER_TOO_LARGE');

    stack.moveClock(61 * 60_000);
    // The simulator forgets all activities, so it would carry out any submit that the gateway sends.
    stack.simulator.reset();
    stack.simulator.change({ clockOffsetMs: stack.machine.clockOffsetMs });
    const stored = await stack.gateway.call(METHOD, done);
    assert.deepEqual(stored, { activity: { id: activity.id, status: activity.status } });
    const again = await stack.gateway.refusal(METHOD, refused);
    assert.deepEqual(
      [again.code, again.info.domain, again.info.reason],
      [refusal.code, 'upstream', refusal.info.reason],
    );
    const { activity_id: id, activity_status: status } = tooLarge.info.metadata;
    assert.deepEqual(await stack.gateway.call(METHOD, large), { activity: { id, status } });
    const storedTimed = await stack.gateway.call(METHOD, timed);
    assert.equal(storedTimed.activity.id, timedActivity.id);
    const late = await stack.gateway.refusal(METHOD, { ...timed, idempotency_key: randomUUID() });
    assert.deepEqual(
      late.badRequest.field_violations.map(({ field }) => field),
      ['timestamp_ms'],
    );
    const unknown = await stack.gateway.refusal(METHOD, lost);
    assert.deepEqual([unknown.code, unknown.info.reason], [code.UNKNOWN, 'OUTCOME_NOT_STORED']);
    assert.equal(unknown.info.metadata.fingerprint, info.metadata.fingerprint);
    assert.deepEqual(bodiesOf(stack.simulator), []);
  });

  test('a restoration of the store: nothing is sent for a key that the store may have lost', async (t) => {
    const stack = await startKeyed(t);
    const known = requestOf(randomUUID());
    const { activity } = await stack.gateway.call(METHOD, known);
    const forgotten = await putBack(stack);
    const { status, stderr } = await run(['store', 'restored', '--config', stack.gateway.configFile]);
    assert.deepEqual([status, stderr], [0, '']);
    await stack.start();
    stack.simulator.reset();

    const stored = await stack.gateway.call(METHOD, known);
    assert.deepEqual(stored, { activity: { id: activity.id, status: activity.status } });
    for (const request of [forgotten, requestOf(randomUUID(), 'new')]) {
      const error = await stack.gateway.refusal(METHOD, request);
      assert.deepEqual([error.code, error.info.reason], [code.UNKNOWN, 'IDEMPOTENCY_KEY_UNCERTAIN']);
      const { seconds } = error.retryInfo.retry_delay;
      assert.ok(Number(seconds) > 23 * 3600 && Number(seconds) <= 24 * 3600, `${seconds} s`);
    }
    assert.deepEqual(bodiesOf(stack.simulator), []);
    // The gateway still sends submits without a key, and upstream carries them out.
    await stack.gateway.call(METHOD, { organization_id: ORGANIZATION, parameters: { organization_name: 'n' } });
  });

  test('a loss of the end of the store, which the gateway detects by itself', async (t) => {
    const stack = await startKeyed(t);
    await stack.gateway.call(METHOD, requestOf(randomUUID()));
    const forgotten = await putBack(stack);
    await stack.start();
    stack.simulator.clearRequests();
    const error = await stack.gateway.refusal(METHOD, forgotten);
    assert.deepEqual([error.code, error.info.reason], [code.UNKNOWN, 'IDEMPOTENCY_KEY_UNCERTAIN']);
    assert.deepEqual(bodiesOf(stack.simulator), []);
  });
});

describe('timestamps', { timeout: 2 * HANG_MS }, () => {
  const submit = (gateway) =>
    gateway.call(METHOD, { organization_id: ORGANIZATION, parameters: { organization_name: 'equal' } });
  const timestampsOf = (simulator) => bodiesOf(simulator).map((body) => Number(JSON.parse(body).timestampMs));

  for (const stepMs of [-40_000, -11_000, 11_000, 40_000]) {
    test(`of equal submits are distinct after a clock step of ${stepMs} ms and kills`, async (t) => {
      const stack = await startKeyed(t);
      const submitMany = () => Promise.all(Array.from({ length: 100 }, () => submit(stack.gateway)));
      const answers = await submitMany();
      stack.moveClock(stepMs);
      answers.push(...(await submitMany()));
      await stack.gateway.stop('SIGKILL');
      await stack.start();
      answers.push(...(await submitMany()));
      await stack.gateway.stop('SIGKILL');
      stack.moveClock(-stepMs);
      await stack.start();
      answers.push(...(await submitMany()));
      assert.equal(new Set(answers.map(({ activity }) => activity.id)).size, 400);
      assert.equal(new Set(timestampsOf(stack.simulator)).size, 400);
    });
  }

  test('of equal submits are distinct if the clock returns to the time of submits before a kill', async (t) => {
    const stack = await startKeyed(t);
    const submitMany = () => Promise.all(Array.from({ length: 100 }, () => submit(stack.gateway)));
    const setClock = (ms) => stack.moveClock(ms - stack.machine.nowMs());
    const answers = await submitMany();
    const begin = Math.min(...timestampsOf(stack.simulator));
    await stack.gateway.stop('SIGKILL');
    // The gateway starts before that time and reaches it again: by its clock, every value would be new.
    setClock(begin - 10_000);
    await stack.start();
    setClock(begin);
    answers.push(...(await submitMany()));
    assert.equal(new Set(answers.map(({ activity }) => activity.id)).size, 200);
    assert.equal(new Set(timestampsOf(stack.simulator)).size, 200);
  });

  test('that would be more than a minute ahead are refused, with RetryInfo', async (t) => {
    const stack = await startKeyed(t);
    await stack.gateway.stop();
    stack.moveClock(10 * 60_000);
    await stack.start();
    await submit(stack.gateway);
    stack.simulator.clearRequests();
    const keyed = requestOf(randomUUID());
    await stack.gateway.call(METHOD, keyed);
    await stack.gateway.stop();
    stack.moveClock(-10 * 60_000);
    await stack.start();
    // A submit with a stored key needs no new timestamp: the gateway sends the stored bytes again. Upstream decides
    // whether the timestamp in these bytes is too far ahead.
    const ahead = await stack.gateway.refusal(METHOD, keyed);
    assert.deepEqual([ahead.info.domain, new Set(bodiesOf(stack.simulator)).size], ['upstream', 1]);
    const error = await stack.gateway.refusal(METHOD, {
      organization_id: ORGANIZATION,
      parameters: { organization_name: 'equal' },
    });
    assert.deepEqual([error.code, error.info.reason], [code.RESOURCE_EXHAUSTED, 'TIMESTAMPS_EXHAUSTED']);
    const delayMs = Number(error.retryInfo.retry_delay.seconds) * 1000;
    assert.ok(delayMs > 8 * 60_000 && delayMs <= 9 * 60_000, `${delayMs} ms`);
    // The gateway does not refuse a submit whose timestamp the caller chose.
    const timestamp_ms = String(Math.floor(stack.machine.nowMs()));
    await stack.gateway.call(METHOD, {
      timestamp_ms,
      organization_id: ORGANIZATION,
      parameters: { organization_name: 'equal' },
    });
    stack.moveClock(delayMs + 1000);
    await submit(stack.gateway);
  });
});
