// Several gateways share an event log on one PostgreSQL server.
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { PostgresServer } from '../postgresql/cluster.mjs';
import { Pool } from '../postgresql/pool.mjs';
import { ask, metricsOf, statusOf } from './admin_port.mjs';
import { Consumer, subscriptionConfig } from './consumer.mjs';
import { deliver } from './event_stack.mjs';
import { QUERY, SUBMIT, described } from './failures.mjs';
import { HANG_MS, WEBHOOK_PATH, run } from './harness.mjs';
import { logLines, logged } from './log_lines.mjs';
import { until } from './processes.mjs';
import { SharedLogStack, writeStoreKey } from './shared_log_stack.mjs';
import { EARLIEST, Subscriber, idsOf, listAll } from './subscriber.mjs';

const TIMEOUT = { timeout: 2 * HANG_MS };
/** What the commands print about a new store. */
const TABLES =
  'schema stampgate: has the tables of version 4\n' +
  'the store keeps events for 168h, at most 10737418240 bytes; ids of events for 720h; and idempotency keys for 24h\n' +
  'every new event must have a seal\n';

/** Starts a server without standbys, and makes a stack that accepts this. */
async function prepare(t, { server, store } = {}) {
  const postgres = await PostgresServer.create(t, server);
  const stack = await SharedLogStack.prepare(t, { hosts: [postgres.host], allow_single_server: true, ...store });
  stack.simulator.webhooks.change({ maxAttempts: 1 });
  return { postgres, stack };
}

/** Delivers an event to a gateway. Resolves to its id. */
async function deliverTo(stack, { webhookUrl: url }, event = {}) {
  const { status, error, eventId } = await deliver(stack.simulator, { url, ...event });
  assert.equal(status, 200, error);
  return eventId;
}

/** Delivers events to the gateways in turn. Resolves to the ids. */
async function deliverInTurn(stack, gateways, count) {
  const ids = [];
  for (let index = 0; index < count; ++index) ids.push(await deliverTo(stack, gateways[index % gateways.length]));
  return ids;
}

for (const version of [15, 18]) {
  test(`three gateways on PostgreSQL ${version} serve one event log`, TIMEOUT, async (t) => {
    const { stack } = await prepare(t, { server: { version } });
    const gateways = [await stack.start(), await stack.start(), await stack.start()];
    const subscribers = await Promise.all(gateways.map((gateway) => Subscriber.start(gateway)));
    const ids = await deliverInTurn(stack, gateways, 12);
    for (const subscriber of subscribers) {
      assert.deepEqual(idsOf(await subscriber.events(ids.length)), ids);
      await subscriber.leave();
    }
    for (const gateway of gateways) assert.deepEqual(idsOf(await listAll(gateway)), ids);

    // Each message has a cursor. All gateways accept it.
    const { cursor } = await gateways[0].call('EventService/ListEvents', { ...EARLIEST, page_size: 5 });
    for (const gateway of gateways) {
      const resumed = new Subscriber(gateway, { cursor });
      assert.deepEqual(idsOf(await resumed.events(ids.length - 5)), ids.slice(5));
      await resumed.leave();
    }
  });
}

test('a delivery that is repeated at another gateway is stored once', TIMEOUT, async (t) => {
  const { stack } = await prepare(t);
  const [first, second] = [await stack.start(), await stack.start()];
  const event = { eventId: 'evt_1', body: '{"number":1}' };
  await deliverTo(stack, first, event);
  for (const gateway of [second, first, second]) await deliverTo(stack, gateway, event);
  await deliverTo(stack, second, { ...event, body: '{"number":2}' });
  for (const gateway of [first, second]) {
    const log = await listAll(gateway);
    assert.deepEqual(
      log.map(({ body }) => String(body)),
      [event.body],
    );
  }
  const metrics = await metricsOf(second);
  assert.equal(metrics.get('stampgate_deliveries_total{outcome="stored"}'), 0);
  assert.equal(metrics.get('stampgate_deliveries_total{outcome="duplicate"}'), 2);
  assert.equal(metrics.get('stampgate_deliveries_total{outcome="conflict"}'), 1);
});

test('gateways survive the loss of the server, and use it when it is back', TIMEOUT, async (t) => {
  const { postgres, stack } = await prepare(t);
  const gateways = [await stack.start(), await stack.start()];
  const [gateway, other] = gateways;
  const subscriber = await Subscriber.start(other);
  const ids = [await deliverTo(stack, gateway)];
  assert.deepEqual(idsOf(await subscriber.events(1)), ids);
  assert.equal((await metricsOf(gateway)).get('stampgate_event_log_failing'), 0);
  assert.equal(await statusOf(gateway.adminUrl, '/readyz/webhooks'), 200);

  for (const end of ['stop', 'kill']) {
    await postgres[end]();
    for (const each of gateways) {
      assert.equal((await deliver(stack.simulator, { url: each.webhookUrl })).status, 503);
      const page = await ask(each.adminUrl, '/readyz/webhooks');
      assert.equal(page.status, 503);
      assert.equal(page.body, 'the server of the event log cannot be used: webhook deliveries are refused\n');
      assert.equal(await statusOf(each.adminUrl, '/readyz'), 200);
      assert.equal((await metricsOf(each)).get('stampgate_event_log_failing'), 1);
      await each.call(QUERY.method, QUERY.request);
    }
    const refusal = described(await gateway.refusal('EventService/ListEvents', EARLIEST));
    assert.deepEqual([refusal.code, refusal.reason], ['UNAVAILABLE', 'EVENT_LOG_UNAVAILABLE']);

    await postgres.start();
    for (const each of gateways) {
      await until(async () => (await statusOf(each.adminUrl, '/readyz/webhooks')) === 200, 'the gateway is ready');
      assert.equal((await metricsOf(each)).get('stampgate_event_log_failing'), 0);
    }
    ids.push(...(await deliverInTurn(stack, gateways, 4)));
    assert.deepEqual(idsOf(await subscriber.events(4)), ids.slice(-4), 'the subscription has continued');
  }
  for (const each of gateways) {
    assert.deepEqual(idsOf(await listAll(each)), ids);
    assert.equal((await logLines(each, 2, 'event_log_unreachable')).length, 2);
    assert.equal((await logLines(each, 2, 'event_log_works_again')).length, 2);
    assert.deepEqual(logged(each, 'events_taken_back'), []);
  }
});

test('a gateway starts without its server, and opens the event log when the server is there', TIMEOUT, async (t) => {
  const { postgres, stack } = await prepare(t);
  await postgres.stop();
  const gateway = await stack.start();
  assert.equal(gateway.webhookUrl, undefined);
  assert.equal(await statusOf(gateway.adminUrl, '/readyz'), 200);
  assert.equal(await statusOf(gateway.adminUrl, '/readyz/webhooks'), 503);
  assert.equal((await metricsOf(gateway)).get('stampgate_event_log_failing'), 1);
  await gateway.call(QUERY.method, QUERY.request);
  const refusal = described(await gateway.refusal('EventService/ListEvents', EARLIEST));
  assert.deepEqual([refusal.code, refusal.reason], ['UNAVAILABLE', 'EVENT_LOG_UNAVAILABLE']);
  const submit = described(await gateway.refusal(SUBMIT.method, SUBMIT.request));
  assert.deepEqual([submit.code, submit.reason], ['RESOURCE_EXHAUSTED', 'TIMESTAMPS_EXHAUSTED']);

  await postgres.start();
  const [{ webhooks }] = await logLines(gateway, 1, 'event_log_opened');
  assert.equal(await statusOf(gateway.adminUrl, '/readyz/webhooks'), 200);
  assert.equal((await metricsOf(gateway)).get('stampgate_event_log_failing'), 0);
  const ids = [await deliverTo(stack, { webhookUrl: webhooks + WEBHOOK_PATH })];
  assert.deepEqual(idsOf(await listAll(gateway)), ids);
  await until(
    () =>
      gateway.call(SUBMIT.method, SUBMIT.request).then(
        () => true,
        () => false,
      ),
    'a submit is sent',
  );
  assert.equal((await logLines(gateway, 1, 'event_log_unreachable')).length, 1);
});

test('a server that does not answer delays neither queries nor readiness', TIMEOUT, async (t) => {
  const { postgres, stack } = await prepare(t);
  const gateway = await stack.start();
  const ids = [await deliverTo(stack, gateway)];
  postgres.pause();
  assert.equal((await deliver(stack.simulator, { url: gateway.webhookUrl, eventId: 'evt_unknown' })).status, 503);
  await until(async () => (await statusOf(gateway.adminUrl, '/readyz/webhooks')) === 503, 'the gateway is not ready');
  assert.equal(await statusOf(gateway.adminUrl, '/readyz'), 200);
  await gateway.call(QUERY.method, QUERY.request);
  postgres.continue();
  await until(async () => (await statusOf(gateway.adminUrl, '/readyz/webhooks')) === 200, 'the gateway is ready');
  // Whether the server has stored the event or not, the log then has it once.
  ids.push(await deliverTo(stack, gateway, { eventId: 'evt_unknown' }));
  ids.push(await deliverTo(stack, gateway));
  assert.deepEqual(idsOf(await listAll(gateway)), ids);
});

test('store migrate creates the tables, and store check examines them and the server', TIMEOUT, async (t) => {
  const { postgres, stack } = await prepare(t);
  const missing = "the store's tables are missing or old: run `stampgate store migrate`";
  assert.deepEqual(await stack.command('check'), { status: 1, signal: null, stdout: '', stderr: `${missing}\n` });
  assert.equal(await stack.startFault({ migrate: false }), missing);
  assert.equal(await postgres.sql("SELECT count(*) FROM pg_namespace WHERE nspname = 'stampgate'"), '0');

  const migrated = { status: 0, signal: null, stdout: TABLES, stderr: '' };
  assert.deepEqual(await stack.command('migrate'), migrated);
  assert.deepEqual(await stack.command('migrate'), migrated);
  const checked = await stack.command('check');
  assert.deepEqual(checked, {
    ...migrated,
    stdout:
      `${migrated.stdout}0 events have no seal\nWARNING: the server's setting synchronous_standby_names is empty: ` +
      'the loss of the server loses acknowledged events\n',
  });

  const strict = await stack.command('check', { allow_single_server: false });
  const single =
    "the server's setting synchronous_standby_names is empty: the loss of the server loses acknowledged events";
  assert.deepEqual([strict.status, strict.stderr], [1, `${single}\n`]);
  assert.equal(await stack.startFault({ allow_single_server: false }), `the call store on PostgreSQL: ${single}`);
  await postgres.set('synchronous_standby_names', 'ANY 1 (n2)');
  assert.deepEqual(await stack.command('check', { allow_single_server: false }), {
    ...migrated,
    stdout: `${migrated.stdout}0 events have no seal\nthe server waits for a synchronous standby\n`,
  });
  await postgres.set('synchronous_standby_names', '');

  const gateway = await stack.start({ migrate: false });
  await deliverTo(stack, gateway);
  await postgres.sql('UPDATE stampgate.store SET version = 5');
  const newer = await stack.command('check');
  const why =
    "the store's tables have version 4, which programs since version 5 can use; this program uses version 4\n";
  assert.deepEqual([newer.status, newer.stderr], [1, why]);
  assert.equal((await stack.command('migrate')).status, 1);
});

test('store commands report a config without a server, and a server that cannot be reached', TIMEOUT, async (t) => {
  const { postgres, stack } = await prepare(t);
  const config = { ...stack.config(), store: { sqlite: { folder: stack.folder } } };
  const file = join(stack.folder, 'sqlite.yaml');
  writeFileSync(file, JSON.stringify(config));
  for (const command of ['check', 'migrate']) {
    const { status, stderr } = await run(['store', command, '--config', file]);
    assert.deepEqual([status, stderr], [1, `${file}: the config has no store.postgresql\n`]);
  }
  await postgres.stop();
  for (const command of ['check', 'migrate']) {
    const { status, stderr } = await stack.command(command);
    assert.equal(status, 1);
    assert.ok(stderr.includes(postgres.host), stderr);
  }
});

test('a gateway with another store key does not start', TIMEOUT, async (t) => {
  const { stack } = await prepare(t);
  const gateway = await stack.start();
  const id = await deliverTo(stack, gateway);
  const fault = await stack.startFault({ key_file: await writeStoreKey(stack.folder, 'other.key') });
  assert.match(fault, /^the event log on PostgreSQL: .*key/);
  assert.deepEqual(idsOf(await listAll(gateway)), [id]);
});

test('a gateway without the right to change tables is enough for everything but migrate', TIMEOUT, async (t) => {
  const { postgres, stack } = await prepare(t, { store: { database: 'events', user: 'gateway' } });
  await postgres.sql('CREATE ROLE owner LOGIN');
  await postgres.sql('CREATE ROLE gateway LOGIN');
  await postgres.sql('CREATE DATABASE events OWNER owner');
  assert.equal((await stack.command('migrate')).status, 1, 'the role may create no schema');
  const granted = await stack.command('migrate', { user: 'owner' }, '--grant-to', 'gateway');
  assert.deepEqual(granted, {
    status: 0,
    signal: null,
    stdout: `${TABLES}role gateway: has the rights of a gateway\n`,
    stderr: '',
  });
  assert.equal((await stack.command('check')).status, 0);
  await postgres.sql('REVOKE SELECT ON stampgate.bounds FROM gateway', { database: 'events' });
  const remedy = /permission denied for table bounds .*run `stampgate store migrate` with --grant-to and the role/;
  assert.match(await stack.startFault(), remedy);
  assert.match((await stack.command('check')).stderr, remedy);
  assert.equal((await stack.command('migrate', { user: 'owner' }, '--grant-to', 'gateway')).status, 0);
  for (const command of ['set', 'seal']) {
    const refused = await stack.command(command);
    assert.equal(refused.status, 1);
    assert.match(refused.stderr, /permission denied/);
  }

  const gateways = [await stack.start(), await stack.start({ migrate: false })];
  const subscriber = await Subscriber.start(gateways[1]);
  const ids = await deliverInTurn(stack, gateways, 6);
  assert.deepEqual(idsOf(await subscriber.events(6)), ids);
  for (const gateway of gateways) {
    assert.deepEqual(idsOf(await listAll(gateway)), ids);
    const start = { time: { seconds: String(Math.floor(Date.now() / 1000) - 3600) } };
    assert.deepEqual(idsOf(await listAll(gateway, start)), ids);
    const { event } = await gateway.call('EventService/GetEvent', { event_id: ids[2] });
    assert.equal(event.event_id, ids[2]);
    assert.ok((await metricsOf(gateway)).get('stampgate_event_log_bytes') > 0);
    assert.deepEqual(logged(gateway, 'event_log_unreachable'), []);
  }
  const asGateway = { user: 'gateway', database: 'events' };
  for (const statement of [
    'DELETE FROM stampgate.events',
    "UPDATE stampgate.events SET body = ''",
    'DROP TABLE stampgate.events',
    'DELETE FROM stampgate.seen',
    'UPDATE stampgate.log SET latest = 0',
    'SELECT stampgate.create_part(9)',
  ]) {
    await assert.rejects(postgres.sql(statement, asGateway), /permission denied|must be owner/, statement);
  }
});

test('store seal names the reason if a backup uses the tables', TIMEOUT, async (t) => {
  const { postgres, stack } = await prepare(t);
  assert.equal((await stack.command('migrate')).status, 0);
  await postgres.sql(
    'UPDATE stampgate.bounds SET unsealed_through = NULL; ALTER TABLE stampgate.events DROP CONSTRAINT events_are_sealed;' +
      ' ALTER TABLE stampgate.submits DROP CONSTRAINT submits_are_sealed',
  );
  const backup = postgres.sql('BEGIN; LOCK TABLE stampgate.events IN ACCESS SHARE MODE; SELECT pg_sleep(600)');
  backup.catch(() => {}); // it ends with the server
  const held =
    "SELECT count(*) FROM pg_locks WHERE relation = 'stampgate.events'::regclass AND mode = 'AccessShareLock'";
  await until(async () => (await postgres.sql(held)) !== '0', 'the backup holds its lock');
  const { status, stderr } = await stack.command('seal');
  assert.equal(status, 1);
  assert.match(
    stderr,
    /lock timeout \(55P03\): another session, such as a backup, uses the tables; run this command again/,
  );
});

test('the owner of the tables decides how long the store keeps events', TIMEOUT, async (t) => {
  const { postgres, stack } = await prepare(t, { store: { user: 'gateway', migrate: false } });
  for (const role of ['owner', 'gateway']) await postgres.sql(`CREATE ROLE ${role} LOGIN`);
  await postgres.sql('GRANT CREATE ON DATABASE postgres TO owner');
  assert.equal((await stack.command('migrate', { user: 'owner' }, '--grant-to', 'gateway')).status, 0);
  const differs = async () => logged(await stack.start(), 'store_bounds_differ').length;
  assert.equal(await differs(), 0);
  stack.more = { events: { retention_age: '24h' } };
  assert.equal(await differs(), 1);
  assert.match((await stack.command('check')).stdout, /^the store keeps events for 168h, /m);
  const { status, stdout } = await stack.command('set', { user: 'owner' });
  assert.equal(status, 0);
  assert.match(stdout, /^the store keeps events for 24h, /);
  assert.equal(await differs(), 0);
});

test(
  'a pool in session mode serves gateways, and a pool that shares sessions is refused in words',
  TIMEOUT,
  async (t) => {
    const { postgres, stack } = await prepare(t);
    const pool = await Pool.create(t, postgres);
    const gateways = [await stack.start({ hosts: [pool.host] }), await stack.start()];
    const subscriber = await Subscriber.start(gateways[0]);
    const ids = await deliverInTurn(stack, gateways, 6);
    assert.deepEqual(idsOf(await subscriber.events(ids.length)), ids);
    await subscriber.leave();
    assert.equal((await stack.command('check', { hosts: [pool.host] })).status, 0);
    for (const mode of ['transaction', 'statement']) {
      const hosts = [(await Pool.create(t, postgres, mode)).host];
      const why =
        'a pool between the gateway and the server gives each transaction another session: set its mode to session';
      const { status, stderr } = await stack.command('check', { hosts });
      assert.deepEqual([status, stderr], [1, `${hosts[0]}: ${why}\n`]);
      assert.ok((await stack.startFault({ hosts })).endsWith(`${hosts[0]}: ${why}`));
    }
    const schemas = await postgres.sql("SELECT string_agg(schemaname, ',') FROM pg_tables WHERE tablename = 'store'");
    assert.equal(schemas, 'stampgate');
  },
);

test(
  'a gateway with all that uses the store holds nine sessions of the server, as the page states',
  TIMEOUT,
  async (t) => {
    const postgres = await PostgresServer.create(t);
    const rates = [
      { requests: 100, per: '1s' },
      { requests: 1000, per: '24h' },
    ];
    const store = { hosts: [postgres.host], allow_single_server: true };
    const stack = await SharedLogStack.prepare(t, store, {
      config: { admission: { rates, max_wait: '30s' }, ...subscriptionConfig() },
    });
    const gateway = await stack.start();
    const consumer = await Consumer.start(gateway);
    const subscribers = await Promise.all(Array.from({ length: 5 }, () => Subscriber.start(gateway)));
    for (let round = 0; round < 5; ++round) {
      const submit = (_, i) => {
        const name = `${round}-${i}`;
        return { ...SUBMIT.request, parameters: { organization_name: name }, idempotency_key: name };
      };
      await Promise.all([
        ...Array.from({ length: 20 }, () => deliverTo(stack, gateway)),
        ...Array.from({ length: 10 }, submit).map((request) => gateway.call(SUBMIT.method, request)),
        ...Array.from({ length: 10 }, () => listAll(gateway)),
        consumer.deliveries(20).then((deliveries) => consumer.settle(deliveries)),
      ]);
    }
    // A gateway that has just connected may have one more for a moment.
    const count = "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'stampgate'";
    await until(async () => (await postgres.sql(count)) === '9', 'the gateway has nine sessions');
    await consumer.leave();
    for (const subscriber of subscribers) await subscriber.leave();
  },
);

test('an operator whose storage tears no page accepts full_page_writes = off', TIMEOUT, async (t) => {
  const { stack } = await prepare(t, { server: { settings: ['full_page_writes = off'] } });
  const fault = await stack.startFault({});
  assert.match(fault, /full_page_writes is off/);
  const store = { allow_full_page_writes_off: true };
  await deliverTo(stack, await stack.start(store));
  const { status, stdout } = await stack.command('check', store);
  assert.equal(status, 0);
  assert.match(stdout, /^WARNING: the server's setting full_page_writes is off: /m);
});

test('another gateway takes over from a killed one, and nothing acknowledged is lost', TIMEOUT, async (t) => {
  const { stack } = await prepare(t);
  const { webhooks } = stack.simulator;
  webhooks.change({ retryMs: 5, maxRetryMs: 40 });
  const [killed, other] = [await stack.start(), await stack.start()];
  const before = await Subscriber.start(killed, EARLIEST);
  webhooks.setEndpoints(null, [killed.webhookUrl]);
  const load = webhooks.sendMany({ count: 400, concurrency: 8 });
  assert.ok(await load.waitFor({ acknowledged: 100, timeoutMs: HANG_MS }));
  const seen = await before.events(50);
  const { cursor } = seen.at(-1);
  assert.ok(!load.isDone);
  await stack.kill(killed);
  webhooks.setEndpoints(null, [other.webhookUrl]);
  const { acknowledged, refused, isDone } = await load.waitFor({ timeoutMs: HANG_MS });
  assert.ok(isDone);
  assert.deepEqual(refused, {});
  assert.equal(acknowledged.length, 400);
  const log = idsOf(await listAll(other));
  assert.deepEqual([...log].sort(), [...load.ids].sort());
  const after = new Subscriber(other, { cursor });
  assert.deepEqual(idsOf([...seen, ...(await after.events(350))]), log);
  await after.leave();
});
