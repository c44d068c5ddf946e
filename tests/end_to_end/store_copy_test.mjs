// `stampgate store copy` moves a store from SQLite to PostgreSQL, and back.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { binary } from '../paths.mjs';
import { PostgresServer } from '../postgresql/cluster.mjs';
import { ORGANIZATION, subOrganization } from '../simulator/testing.mjs';
import { Consumer, stateOf, subscriptionConfig } from './consumer.mjs';
import { deliver } from './event_stack.mjs';
import { Gateway, HANG_MS, run } from './harness.mjs';
import { LONG } from './processes.mjs';
import { SharedLogStack } from './shared_log_stack.mjs';
import { EARLIEST, Subscriber, idsOf, listAll } from './subscriber.mjs';

const TIMEOUT = { timeout: 2 * HANG_MS };
const stampgate = binary('gateway/stampgate');
const METHOD = 'OrganizationService/UpdateOrganizationName';

/** A simulator, a server, and configs of gateways with a store in files and on the server. All have `config`, too. */
async function prepare(t, config) {
  const postgres = await PostgresServer.create(t);
  const store = { hosts: [postgres.host], allow_single_server: true };
  const stack = await SharedLogStack.prepare(t, store, { config });
  stack.simulator.webhooks.change({ maxAttempts: 1 });
  const onServer = stack.config();
  const inFiles = (name) => {
    const folder = join(stack.folder, name);
    mkdirSync(folder);
    return { ...onServer, store: { sqlite: { folder } } };
  };
  return { postgres, stack, onServer, inFiles };
}

/** Runs `stampgate store copy`. */
function copy({ folder }, from, to) {
  const files = writeConfigs(folder, from, to);
  return run(['store', 'copy', '--from', files[0], '--to', files[1]]);
}

/** Writes both configs, and returns the files. */
function writeConfigs(folder, from, to) {
  return Object.entries({ from, to }).map(([name, config]) => {
    const file = join(folder, `${name}.yaml`);
    writeFileSync(file, JSON.stringify(config));
    return file;
  });
}

/**
 * Begins `stampgate store copy`, and kills it `delayMs` after `begun` has resolved. Resolves to its exit status, which is
 * null if the kill came in time.
 */
async function killedCopy({ folder }, from, to, { delayMs, begun }) {
  const files = writeConfigs(folder, from, to);
  const child = spawn(stampgate, ['store', 'copy', '--from', files[0], '--to', files[1]], { stdio: 'ignore' });
  const closed = new Promise((resolve) => {
    child.on('close', resolve);
  });
  await Promise.race([begun, closed]);
  await Promise.race([pause(delayMs), closed]);
  child.kill('SIGKILL');
  return closed;
}

/** Tries to start a gateway. Resolves to its output if it refuses to start, or to the number of its events. */
async function start(stack, config) {
  try {
    return await withGateway(stack, config, async (gateway) => (await listAll(gateway)).length);
  } catch (error) {
    return error.message;
  }
}

/** Runs `use` with a gateway with this config, which then ends. */
async function withGateway({ folder }, config, use) {
  const gateway = await Gateway.start(config, { folder });
  try {
    return await use(gateway);
  } finally {
    assert.equal((await gateway.stop()).status, 0, gateway.output);
  }
}

/** The ids of the events of deliveries. */
const delivered = (deliveries) => idsOf(deliveries.map(({ event }) => event));

const bodiesOf = ({ simulator }) =>
  simulator
    .requests()
    .filter(({ path }) => path.includes('/submit/'))
    .map(({ body }) => JSON.parse(body));

test('a moved store keeps events, cursors, idempotency keys and timestamps', TIMEOUT, async (t) => {
  const { stack, onServer, inFiles } = await prepare(t);
  const { simulator } = stack;
  const ids = [];
  const keyed = {
    organization_id: ORGANIZATION,
    parameters: { organization_name: 'New' },
    idempotency_key: randomUUID(),
  };
  const first = inFiles('first');
  const { activity, cursor } = await withGateway(stack, first, async (gateway) => {
    for (let i = 0; i < 5; ++i) ids.push((await deliver(simulator, { url: gateway.webhookUrl })).eventId);
    const page = await gateway.call('EventService/ListEvents', { ...EARLIEST, page_size: 3 });
    const call = await gateway.call(METHOD, keyed);
    return { activity: call.activity, cursor: page.cursor };
  });
  const used = bodiesOf(stack).map(({ timestampMs }) => Number(timestampMs));

  /** The store is the same one, and continues. */
  const check = (gateway) => async () => {
    assert.deepEqual(idsOf(await listAll(gateway)), ids);
    const subscriber = new Subscriber(gateway, { cursor });
    assert.deepEqual(idsOf(await subscriber.events(ids.length - 3)), ids.slice(3));
    const repeated = { url: gateway.webhookUrl, eventId: 'evt_repeated', body: '{"number":1}' };
    for (let i = 0; i < 2; ++i) assert.equal((await deliver(simulator, repeated)).status, 200);
    if (!ids.includes('evt_repeated')) ids.push('evt_repeated');
    const event = await deliver(simulator, { url: gateway.webhookUrl });
    assert.equal(event.status, 200);
    ids.push(event.eventId);
    assert.equal(idsOf(await listAll(gateway)).length, ids.length);
    await subscriber.leave();

    simulator.clearRequests();
    assert.equal((await gateway.call(METHOD, keyed)).activity.id, activity.id, 'the key has its activity');
    await gateway.call(METHOD, { ...keyed, idempotency_key: randomUUID() });
    const timestamps = bodiesOf(stack).map(({ timestampMs }) => Number(timestampMs));
    const [latest] = timestamps.slice(-1);
    assert.ok(latest > Math.max(...used), 'the timestamp is above all earlier ones');
    used.push(latest);
  };

  const there = await copy(stack, first, onServer);
  assert.equal(there.status, 0, there.stderr);
  assert.match(there.stdout, /^events: 5\nidempotency keys: 1\n/);
  await withGateway(stack, onServer, (gateway) => check(gateway)());

  const second = inFiles('second');
  const back = await copy(stack, onServer, second);
  assert.equal(back.status, 0, back.stderr);
  assert.match(back.stdout, /^events: 7\nidempotency keys: 2\n/);
  await withGateway(stack, second, (gateway) => check(gateway)());
});

test('a moved store keeps what consumers have settled, parked and received', TIMEOUT, async (t) => {
  const { stack, onServer, inFiles } = await prepare(t, subscriptionConfig({ settle_within: '300s' }));
  let organizations = 0;
  const send = async ({ webhookUrl: url }) => {
    const organizationId = subOrganization(organizations++);
    const { status, eventId } = await deliver(stack.simulator, { url, organizationId });
    assert.equal(status, 200);
    return eventId;
  };

  const first = inFiles('first');
  const { settled, parked, held } = await withGateway(stack, first, async (gateway) => {
    const ids = [];
    for (let i = 0; i < 5; ++i) ids.push(await send(gateway));
    const consumer = await Consumer.start(gateway, { max_unsettled: 10 });
    const deliveries = await consumer.deliveries(ids.length);
    assert.deepEqual(delivered(deliveries), ids);
    // The last one, because the events before it are not settled.
    assert.deepEqual(await consumer.settle(deliveries.slice(4)), []);
    assert.deepEqual(await consumer.settle([deliveries[0]], 'PARK', { park_reason: 'broken' }), []);
    return { settled: deliveries[4], parked: ids[0], held: deliveries.slice(1, 4) };
  });

  /** The consumer settles `old`, which it received before the copy, and gets only what is new. */
  const check = (old, left) => async (gateway) => {
    const consumer = await Consumer.start(gateway, { max_unsettled: 10 });
    assert.deepEqual(await consumer.settle([old]), []);
    const id = await send(gateway);
    const deliveries = await consumer.deliveries(1);
    assert.deepEqual(delivered(deliveries), [id]);
    assert.deepEqual(await consumer.settle([...deliveries, settled, old]), [], 'they are settled');
    const { parked_events: events } = await gateway.call('SubscriptionService/ListParked', { subscription: 'payouts' });
    assert.deepEqual(
      events.map(({ event, reason }) => [event.event_id, reason]),
      [[parked, 'broken']],
    );
    const { unsettled = 0, parked: count } = await stateOf(gateway);
    assert.deepEqual([Number(unsettled), Number(count)], [left, 1]);
  };

  const there = await copy(stack, first, onServer);
  assert.equal(there.status, 0, there.stderr);
  await withGateway(stack, onServer, check(held[0], 2));
  const second = inFiles('second');
  const back = await copy(stack, onServer, second);
  assert.equal(back.status, 0, back.stderr);
  await withGateway(stack, second, check(held[1], 1));
});

test('a store in use is neither the source nor the target of a copy', TIMEOUT, async (t) => {
  const { stack, onServer, inFiles } = await prepare(t);
  const files = inFiles('files');
  await withGateway(stack, files, async () => {
    const { status, stderr } = await copy(stack, files, onServer);
    assert.equal(status, 1);
    assert.match(stderr, /another process has/);
  });
  await withGateway(stack, onServer, async () => {
    for (const [from, to] of [
      [files, onServer],
      [onServer, inFiles('new')],
    ]) {
      const { status, stderr } = await copy(stack, from, to);
      assert.equal(status, 1);
      assert.match(stderr, /1 gateway uses the store/);
    }
  });
  const used = await copy(stack, files, onServer);
  assert.equal(used.status, 1);
  assert.match(used.stderr, /the store has an event log or idempotency keys already/);
  const existing = await copy(stack, onServer, files);
  assert.equal(existing.status, 1);
  assert.match(existing.stderr, /there is a file already/);
});

test('a copy needs one store in files and one on a server', TIMEOUT, async (t) => {
  const { stack, onServer, inFiles } = await prepare(t);
  const [files, others] = [inFiles('files'), inFiles('others')];
  for (const [from, to] of [
    [files, others],
    [onServer, onServer],
  ]) {
    const { status, stderr } = await copy(stack, from, to);
    assert.equal(status, 1);
    assert.match(stderr, /one config must have a store in SQLite files, and the other store\.postgresql/);
  }
  const nothing = await copy(stack, files, onServer);
  assert.equal(nothing.status, 1);
  assert.match(nothing.stderr, /there is no store to copy/);
});

const EVENTS = 20;
/** How often a copy is killed, in each direction. */
const KILLS = LONG ? 60 : 8;

/** A store in files with events and a key. */
async function fill(stack, config) {
  await withGateway(stack, config, async (gateway) => {
    for (let i = 0; i < EVENTS; ++i) await deliver(stack.simulator, { url: gateway.webhookUrl });
    const parameters = { organization_name: 'New' };
    await gateway.call(METHOD, { organization_id: ORGANIZATION, parameters, idempotency_key: randomUUID() });
  });
}

/**
 * Copies the store `from` to new stores, which `targetOf` makes from their names, and kills each copy: the first one as
 * soon as `hasBegun` of its target resolves, and each further one later, up to the duration of a whole copy. Yields the
 * targets of the copies that a kill has ended, some of which can be complete.
 */
async function* killedCopies(stack, from, targetOf, hasBegun) {
  const whole = targetOf('whole');
  const ended = copy(stack, from, whole);
  await hasBegun(whole);
  const began = performance.now();
  assert.equal((await ended).status, 0);
  const restMs = performance.now() - began;
  for (let i = 0; i < KILLS; ++i) {
    const target = targetOf(`target_${i}`);
    const begun = hasBegun(target);
    if ((await killedCopy(stack, from, target, { delayMs: (restMs * i) / KILLS, begun })) !== 0) yield target;
  }
}

test('no gateway starts with what a killed copy to files has left', { timeout: 6 * HANG_MS }, async (t) => {
  const { stack, onServer, inFiles } = await prepare(t);
  const source = inFiles('source');
  await fill(stack, source);
  assert.equal((await copy(stack, source, onServer)).status, 0);

  // Each start creates the lock too.
  const leftIn = ({ store }) => readdirSync(store.sqlite.folder).filter((name) => !name.endsWith('.lock'));
  const hasFile = async (target) => {
    while (leftIn(target).length === 0) await new Promise(setImmediate);
  };
  let interrupted = 0;
  for await (const target of killedCopies(stack, onServer, inFiles, hasFile)) {
    const left = leftIn(target);
    const started = await start(stack, target);
    if (started === EVENTS) continue; // the copy was complete when it was killed
    assert.match(`${started}`, /a copy to this file has not ended; if it was interrupted, delete/, `${left}`);
    assert.deepEqual(leftIn(target), left, 'the refused start changes nothing');
    const again = await copy(stack, onServer, target);
    assert.equal(again.status, 1);
    assert.match(again.stderr, /a copy to this file has not ended/);
    ++interrupted;
  }
  assert.ok(interrupted > 0, 'no copy was interrupted');
  const again = inFiles('again');
  assert.equal((await copy(stack, onServer, again)).status, 0);
  assert.equal(await start(stack, again), EVENTS);
});

test('no gateway starts with what a killed copy to a server has left', { timeout: 6 * HANG_MS }, async (t) => {
  const { postgres, stack, onServer, inFiles } = await prepare(t);
  const source = inFiles('source');
  await fill(stack, source);
  const inSchema = (schema) => ({ ...onServer, store: { postgresql: { ...onServer.store.postgresql, schema } } });
  // Each commit takes 100 ms, so that the kills come between any two commits.
  await postgres.set('commit_siblings', '0');
  await postgres.set('commit_delay', '100000');
  const hasTable = async ({ store }) => {
    const count = `SELECT count(*) FROM pg_tables WHERE schemaname = '${store.postgresql.schema}'`;
    while ((await postgres.sql(count)) === '0');
  };
  // The server ends a commit that it has begun, also the last one, after the copy was killed.
  const others =
    "SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()";
  const sessionsEnd = async () => {
    while ((await postgres.sql(others)) !== '0');
  };
  let interrupted = 0;
  for await (const target of killedCopies(stack, source, inSchema, hasTable)) {
    await sessionsEnd();
    const started = await start(stack, target);
    if (started === EVENTS) continue; // the copy was complete when it was killed
    assert.match(`${started}`, /a copy to this store has not ended; if it was interrupted, drop the schema/);
    const again = await copy(stack, source, target);
    assert.equal(again.status, 1);
    assert.match(again.stderr, /a copy to this store has not ended/);
    await postgres.sql(`DROP SCHEMA ${target.store.postgresql.schema} CASCADE`);
    assert.equal((await copy(stack, source, target)).status, 0, 'a copy after the schema was dropped');
    ++interrupted;
  }
  assert.ok(interrupted > 0, 'no copy was interrupted');
});
