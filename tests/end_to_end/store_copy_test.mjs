// `stampgate store copy` moves a store from SQLite to PostgreSQL, and back.
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { PostgresServer } from '../postgresql/cluster.mjs';
import { ORGANIZATION } from '../simulator/testing.mjs';
import { deliver } from './event_stack.mjs';
import { Gateway, HANG_MS, run } from './harness.mjs';
import { SharedLogStack } from './shared_log_stack.mjs';
import { EARLIEST, Subscriber, idsOf, listAll } from './subscriber.mjs';

const TIMEOUT = { timeout: 2 * HANG_MS };
const METHOD = 'OrganizationService/UpdateOrganizationName';

/** A simulator, a server, and configs of gateways with a store in files and on the server. */
async function prepare(t) {
  const postgres = await PostgresServer.create(t);
  const stack = await SharedLogStack.prepare(t, { hosts: [postgres.host], allow_single_server: true });
  stack.simulator.webhooks.change({ maxAttempts: 1 });
  const onServer = stack.config();
  const inFiles = (name) => {
    const folder = join(stack.folder, name);
    mkdirSync(folder);
    return { ...onServer, store: { sqlite: { folder } } };
  };
  return { stack, onServer, inFiles };
}

/** Runs `stampgate store copy`. */
function copy({ folder }, from, to) {
  const files = Object.entries({ from, to }).map(([name, config]) => {
    const file = join(folder, `${name}.yaml`);
    writeFileSync(file, JSON.stringify(config));
    return file;
  });
  return run(['store', 'copy', '--from', files[0], '--to', files[1]]);
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
