// Tests consumers of shared subscriptions against the package's own fake gateway.
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { promisify } from 'node:util';
import { importFrom, installPackage } from './installed.mjs';

const UNAVAILABLE = 14;
const DEADLINE_EXCEEDED = 4;

const folder = mkdtempSync(join(tmpdir(), 'stampgate-client-'));
let client;
let api;
let testing;
before(async () => {
  installPackage(folder);
  client = await importFrom(folder);
  api = await importFrom(folder, '/v1');
  testing = await importFrom(folder, '/testing');
});
after(() => rmSync(folder, { recursive: true }));

/** A module that the package uses. */
const dependency = (name) => createRequire(join(folder, 'node_modules/anything.js'))(name);

const consume = () => api.SubscriptionService.method.consume;
const settle = () => api.SubscriptionService.method.settle;
const token = (name) => `token ${name}`;
/** The first message of a stream. */
const first = (settleWithinMs = 30_000) => ({ settleWithinMs });
const delivery = (name, deliveryCount = 1) => ({ event: { eventId: name }, token: token(name), deliveryCount });
const message = (...names) => ({ deliveries: names.map((name) => delivery(name)) });
const HEARTBEAT = {};
const lost = (...names) => ({ supersededTokens: names.map(token) });
// @grpc/grpc-js itself repeats a settle after UNAVAILABLE, but not after this error.
const late = () => testing.errorOf({ code: DEADLINE_EXCEEDED });
const broken = () => testing.errorOf({ code: UNAVAILABLE });
const denied = () => testing.errorOf({ code: 7, reason: 'DENIED_BY_POLICY' });

/** A gateway with these streams of Consume and answers to Settle. */
async function consuming(t, streams, settles = [{}]) {
  const fake = await testing.FakeGateway.start();
  const gateway = client.connect(fake.address);
  t.after(() => {
    gateway.close();
    fake.stop();
  });
  fake.answer(consume(), ...streams);
  fake.answer(settle(), ...settles);
  const handled = [];
  const logged = [];
  const log = (...line) => logged.push(line.join(' '));
  const run = (handle = (_) => undefined, options = {}) =>
    gateway.consume('payouts', (each) => (handled.push(each.event.eventId), handle(each)), { log, ...options });
  const settled = () => fake.requests(settle()).map(({ outcome, tokens }) => [api.SettleOutcome[outcome], ...tokens]);
  return { fake, handled, logged, run, settled };
}

/** Resolves when the condition is true. */
async function until(condition) {
  while (!condition()) await new Promise((resolve) => setImmediate(resolve));
}

test('a consumer handles events in order, and settles each before the next one', async (t) => {
  const { fake, handled, run, settled } = await consuming(t, [[first(), message('a', 'b'), message('c'), denied()]]);
  const before = [];
  await assert.rejects(
    run(() => before.push(settled().length), { maxUnsettled: 3 }),
    { reason: 'DENIED_BY_POLICY' },
  );
  assert.deepEqual(
    [handled, before],
    [
      ['a', 'b', 'c'],
      [0, 1, 2],
    ],
  );
  assert.deepEqual(
    settled(),
    ['a', 'b', 'c'].map((name) => ['DONE', token(name)]),
  );
  const [{ subscription, maxUnsettled }] = fake.requests(consume());
  assert.deepEqual([subscription, maxUnsettled], ['payouts', 3]);
});

test('a consumer resumes with the tokens that it holds', async (t) => {
  const streams = [
    [first(), message('a', 'b'), broken()],
    [first(), message('c'), denied()],
  ];
  const { fake, handled, run } = await consuming(t, streams);
  await assert.rejects(
    run(() => until(() => fake.requests(consume()).length === 2)),
    { reason: 'DENIED_BY_POLICY' },
  );
  assert.deepEqual(
    fake.requests(consume()).map(({ heldTokens }) => heldTokens),
    [[], ['token a', 'token b']],
  );
  assert.deepEqual(handled, ['a', 'b', 'c']);
});

test('a consumer does not handle an event that another consumer can have received', async (t) => {
  const streams = [
    [first(), message('a', 'b'), broken()],
    [{ ...first(), ...lost('b') }, message('c'), denied()],
  ];
  const { handled, logged, run } = await consuming(t, streams);
  await assert.rejects(
    run(() => until(() => logged.length > 0)),
    { reason: 'DENIED_BY_POLICY' },
  );
  assert.deepEqual(handled, ['a', 'c']);
  assert.match(logged[0], /has lost event b/);
});

test('a consumer repeats a settle until it succeeds', async (t) => {
  const { run, settled } = await consuming(t, [[first(), message('a', 'b'), denied()]], [broken(), late(), {}]);
  await assert.rejects(run(), { reason: 'DENIED_BY_POLICY' });
  const done = ['DONE', token('a')];
  assert.deepEqual(settled(), [done, done, done, ['DONE', token('b')]]);
});

test('a consumer ends when a settle is denied', async (t) => {
  const { handled, run } = await consuming(t, [[first(), message('a', 'b'), testing.NEVER]], [denied()]);
  await assert.rejects(run(), { reason: 'DENIED_BY_POLICY' });
  assert.deepEqual(handled, ['a']);
});

test('a consumer lets an event whose handler fails be delivered again, later and later', async (t) => {
  for (const [count, delayMs] of [
    [1, 1_000],
    [2, 2_000],
    [5, 16_000],
    [1000, 3_600_000],
  ]) {
    const stream = [first(), { deliveries: [delivery('a', count)] }, denied()];
    const { fake, logged, run } = await consuming(t, [stream]);
    await assert.rejects(
      run(() => Promise.reject(new Error('no connection'))),
      { reason: 'DENIED_BY_POLICY' },
    );
    const [{ outcome, retryDelayMs }] = fake.requests(settle());
    assert.deepEqual([outcome, retryDelayMs], [api.SettleOutcome.RETRY, delayMs]);
    assert.match(logged[0], /^the handler failed for event a, .* Error: no connection$/);
  }
});

test('a consumer does not handle the later events of the key after a retry', async (t) => {
  const settles = [{}, late(), lost('b'), {}];
  const { handled, run, settled } = await consuming(t, [[first(), message('a', 'b', 'c'), denied()]], settles);
  const fail = ({ event }) => {
    if (event.eventId === 'a') throw new Error('no connection');
  };
  await assert.rejects(run(fail), { reason: 'DENIED_BY_POLICY' });
  assert.deepEqual(handled, ['a', 'c']);
  const check = ['EXTEND', token('b'), token('c')];
  assert.deepEqual(settled(), [['RETRY', token('a')], check, check, ['DONE', token('c')]]);
});

test('a consumer does not handle a later event of the key that was on its way at the retry', async (t) => {
  const streams = [
    [first(), message('a'), broken()],
    [first(), message('b'), message('c'), denied()],
  ];
  const { handled, run, settled } = await consuming(t, streams, [{}, lost('b'), {}]);
  const fail = ({ event }) => {
    if (event.eventId === 'a') throw new Error('no connection');
  };
  await assert.rejects(run(fail), { reason: 'DENIED_BY_POLICY' });
  assert.deepEqual(handled, ['a', 'c']);
  assert.deepEqual(settled().at(-1), ['DONE', token('c')]);
});

test('a consumer does not handle the later events of the key after it has lost an event', async (t) => {
  const { handled, logged, run, settled } = await consuming(
    t,
    [[first(), message('a', 'b'), denied()]],
    [lost('a'), lost('b')],
  );
  await assert.rejects(run(), { reason: 'DENIED_BY_POLICY' });
  assert.deepEqual(handled, ['a']);
  assert.deepEqual(settled(), [
    ['DONE', token('a')],
    ['EXTEND', token('b')],
  ]);
  assert.equal(logged.length, 2);
});

test('a consumer parks an event whose handler throws Park, with the reason', async (t) => {
  const { fake, run, settled } = await consuming(t, [[first(), message('a', 'b'), denied()]]);
  const park = () => {
    throw new client.Park('é'.repeat(200));
  };
  await assert.rejects(run(park), { reason: 'DENIED_BY_POLICY' });
  assert.deepEqual(settled(), [
    ['PARK', token('a')],
    ['PARK', token('b')],
  ]);
  assert.equal(fake.requests(settle())[0].parkReason, 'é'.repeat(128));
});

test('a consumer extends all that it holds while a handler is slow', async (t) => {
  const settles = [late(), lost('b'), {}];
  const stream = [first(300), message('a', 'b', 'c'), HEARTBEAT, denied()];
  const { handled, logged, run, settled } = await consuming(t, [stream], settles);
  const slow = () => until(() => logged.length > 0);
  await assert.rejects(run(slow), { reason: 'DENIED_BY_POLICY' });
  assert.deepEqual(handled, ['a', 'c']);
  const extension = ['EXTEND', token('a'), token('b'), token('c')];
  assert.deepEqual(settled().slice(0, 2), [extension, extension]);
});

test('a consumer extends what it holds within the time that the latest stream states', async (t) => {
  const streams = [
    [first(), message('a'), broken()],
    [first(300), denied()],
  ];
  const { run, settled } = await consuming(t, streams);
  // The second extension needs the new time too.
  const slow = () => until(() => settled().length === 2);
  await assert.rejects(run(slow), { reason: 'DENIED_BY_POLICY' });
  const extension = ['EXTEND', token('a')];
  assert.deepEqual(settled(), [extension, extension, ['DONE', token('a')]]);
});

test('a consumer has 30 seconds to settle an event if the stream states no time', async (t) => {
  for (const [withinMs, everyMs] of [
    [0, 10_000],
    [60_000, 20_000],
  ]) {
    const timers = t.mock.method(globalThis, 'setTimeout');
    const { run } = await consuming(t, [[first(withinMs), message('a'), denied()]]);
    await assert.rejects(run(), { reason: 'DENIED_BY_POLICY' });
    timers.mock.restore();
    const delays = timers.mock.calls.map(({ arguments: [, delay] }) => delay);
    assert.deepEqual(
      delays.filter((delay) => delay === 10_000 || delay === 20_000),
      [everyMs],
    );
  }
});

test('a consumer stops when its signal aborts: settles the event that it handles, and gives the others back', async (t) => {
  const { handled, run, settled } = await consuming(t, [[first(), message('a', 'b'), testing.NEVER]]);
  const stop = new AbortController();
  await run(() => stop.abort(), { signal: stop.signal });
  assert.deepEqual(handled, ['a']);
  assert.deepEqual(settled(), [
    ['DONE', token('a')],
    ['RETRY', token('b')],
  ]);
});

test('a consumer stops while it waits for an event, and while it repeats a settle', async (t) => {
  for (const answer of [{}, late()]) {
    const { run, settled } = await consuming(t, [[first(), message('a'), testing.NEVER]], [answer]);
    const stop = new AbortController();
    const running = run(undefined, { signal: stop.signal });
    await until(() => settled().length > 0);
    // The consumer receives the answer, and waits.
    for (let turn = 0; turn < 100; turn += 1) await new Promise((resolve) => setImmediate(resolve));
    stop.abort();
    await running;
  }
});

test('a consumer cancels its call when it ends', async (t) => {
  const grpc = dependency('@grpc/grpc-js');
  const { create } = dependency('@bufbuild/protobuf');
  const server = new grpc.Server();
  const cancelled = new Promise((resolve) => {
    server.addService(client.serviceDefinition(api.SubscriptionService), {
      consume(call) {
        call.on('cancelled', resolve);
        for (const each of [first(), message('a')]) call.write(create(api.ConsumeResponseSchema, each));
      },
      settle: (_, done) => done(null, create(api.SettleResponseSchema)),
    });
  });
  const insecure = grpc.ServerCredentials.createInsecure();
  const port = await promisify(server.bindAsync.bind(server))('127.0.0.1:0', insecure);
  const gateway = client.connect(`127.0.0.1:${port}`);
  t.after(() => {
    gateway.close();
    server.forceShutdown();
  });
  const stop = new AbortController();
  await gateway.consume('payouts', () => stop.abort(), { signal: stop.signal });
  await cancelled;
});

test('a consumer ends with a gap after it has handled what it holds', async (t) => {
  for (const reason of ['EVENTS_TRIMMED', 'EVENTS_LOST', 'EVENT_DAMAGED']) {
    const gap = testing.errorOf({ code: 15, reason, message: 'the events from 4 to 7 are missing' });
    const { handled, run } = await consuming(t, [[first(), message('a', 'b'), gap]]);
    const error = await run().catch((failure) => failure);
    assert.ok(error instanceof client.Gap);
    assert.deepEqual([error.reason, error.cursor, handled], [reason, undefined, ['a', 'b']]);
  }
});
