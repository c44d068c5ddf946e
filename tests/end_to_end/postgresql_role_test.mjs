// What somebody can do who has only the gateways' role on the PostgreSQL server: a stolen password, or a broken gateway.
// Each attack runs against two gateways, and gateway/SECURITY.md has a table of them.
import assert from 'node:assert/strict';
import { createHash, randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, describe, test } from 'node:test';
import { root } from '../paths.mjs';
import { PostgresServer } from '../postgresql/cluster.mjs';
import { ORGANIZATION } from '../simulator/testing.mjs';
import { metricsOf } from './admin_port.mjs';
import { deliver } from './event_stack.mjs';
import { described } from './failures.mjs';
import { HANG_MS } from './harness.mjs';
import { until } from './processes.mjs';
import { Random } from './random.mjs';
import { SharedLogStack } from './shared_log_stack.mjs';
import { LATEST, Subscriber, idsOf, listAll } from './subscriber.mjs';

const METHOD = 'OrganizationService/UpdateOrganizationName';
const rename = (organization_name, more) => [
  METHOD,
  { organization_id: ORGANIZATION, parameters: { organization_name }, ...more },
];
const GATEWAY = { user: 'gateway' };
const DENIED = /permission denied|must be owner/;
/** The functions of releases before 0.2.0, with the parameters that an attacker needs. */
const EARLIER = [
  'append_events(NULL, false, $${}$$, $${}$$, $${}$$, $${}$$, $${}$$, $${}$$, $${}$$, $${}$$, $${}$$, $${}$$, $${}$$, $${}$$)',
  'trim_log(NULL, -1, 0, 0)',
  'tidy_submits(NULL, -1)',
  'put_submits(false, 0, NULL, 0, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL)',
  'take_lease($$x$$, NULL, 0)',
  'raise_lease(false, 0, $$x$$, 9223372036854775807, NULL)',
  'release_lease(0, $$x$$, 0, NULL)',
  'record_loss(0, 9223372036854775807, NULL)',
  'mark_restored(NULL)',
  'repair_store()',
  'seal_store()',
  'create_part(99)',
  'lock_log(9000000000000000000)',
  'distrust_submits(NULL)',
  'renew_shares($$x$$, 1, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL)',
  'release_shares($$x$$)',
  'take_quota(false, $$x$$, 86400000000, 1, 1, NULL)',
  'return_quota($$x$$, 86400000000, 0, 1)',
];

/** Values of each type of parameter. */
const HOSTILE = {
  boolean: ['NULL', 'false'],
  bigint: ['NULL', '0', '1', '-1', '9223372036854775807', "'-9223372036854775808'"],
  bytea: ['NULL', "''", "'a'"],
  'bigint[]': ['NULL', "'{}'", "'{NULL}'", "'{1}'", "'{-1, 9223372036854775807}'"],
  'bytea[]': ['NULL', "'{}'", "'{NULL}'", "'{a}'", "'{a, b, NULL}'"],
};

const bytea = (bytes) => `'\\x${Buffer.from(bytes).toString('hex')}'::bytea`;
const array = (...values) => `ARRAY[${values.map(bytea).join(', ')}]`;

function number(value) {
  const bytes = Buffer.alloc(8);
  bytes.writeBigInt64BE(BigInt(value));
  return bytes;
}

/**
 * SQL that stores an event as a gateway does. `seal` is the seal, or `undefined` for none. `large` replaces columns by SQL
 * of type bytea.
 */
function storeEvent({ id, organization = ORGANIZATION, type = 'ACTIVITY_UPDATES', body = '{}', seal, large = {} }) {
  const sha256 = createHash('sha256').update(body).digest();
  const signature = Buffer.alloc(64, 1);
  const texts = [id, organization, '', type, 'key', signature, '', sha256].map((text) => Buffer.from(text));
  const content = Buffer.concat([number(1), ...texts.flatMap((text) => [number(text.length), text])]);
  const columns = Object.entries({ id, scope: organization, organization, parent: '', type, key: 'key', signature, headers: '', sha256, content, body })
    .map(([name, value]) => `ARRAY[${large[name] ?? bytea(value)}]`); // prettier-ignore
  columns.splice(6, 0, "'{1}'");
  const seals = seal === undefined ? 'ARRAY[NULL]::bytea[]' : array(seal);
  return `SELECT outcomes[1] FROM stampgate.store_events(false, ${columns.join(', ')}, ${seals})`;
}

describe('somebody who has only the role of the gateways', { timeout: 4 * HANG_MS }, async () => {
  const postgres = await PostgresServer.create({ after }, { version: 18 });
  for (const role of ['owner', 'gateway']) await postgres.sql(`CREATE ROLE ${role} LOGIN`);
  await postgres.sql('GRANT CREATE ON DATABASE postgres TO owner');
  const store = { hosts: [postgres.host], allow_single_server: true, migrate: false, user: 'gateway' };
  const activities = { poll_interval: '1s', max_poll_interval: '1s' };
  const stack = await SharedLogStack.prepare({ after }, store, { config: { activities } });
  stack.simulator.webhooks.change({ maxAttempts: 1 });
  const migrated = await stack.command('migrate', { user: 'owner' }, '--grant-to', 'gateway');
  assert.equal(migrated.status, 0, migrated.stderr);
  const gateways = [await stack.start(), await stack.start()];

  const asGateway = (text) => postgres.sql(text, GATEWAY);
  const deliverTo = async (gateway, event) => {
    const { status, eventId } = await deliver(stack.simulator, { url: gateway.webhookUrl, ...event });
    return { status, eventId };
  };
  /** Resolves to the ids of all events when the other gateway lists the event `id`. */
  const readAll = async (id) => {
    let ids;
    await until(async () => (ids = idsOf(await listAll(gateways[1]))).includes(id), 'the event');
    return ids;
  };

  const ROWS = [];
  /** Declares an attack, whose row in the page is these texts. */
  const attack = (what, outcome, work) => {
    ROWS.push(`| ${what} | ${outcome} |`);
    test(what, work);
  };

  attack('changes a table', 'permission denied', async () => {
    const tables = (await postgres.sql("SELECT tablename FROM pg_tables WHERE schemaname = 'stampgate'")).split('\n');
    assert.ok(tables.length >= 12, `${tables}`);
    for (const table of tables) {
      const columns = await postgres.sql(
        `SELECT column_name FROM information_schema.columns WHERE table_schema = 'stampgate' AND table_name = '${table}'`,
      );
      const [column] = columns.split('\n');
      for (const statement of [
        `DELETE FROM stampgate.${table}`,
        `INSERT INTO stampgate.${table} DEFAULT VALUES`,
        `UPDATE stampgate.${table} SET ${column} = NULL`,
        `TRUNCATE stampgate.${table}`,
        `DROP TABLE stampgate.${table}`,
        `BEGIN; LOCK TABLE stampgate.${table} IN ACCESS EXCLUSIVE MODE`,
      ]) {
        await assert.rejects(asGateway(statement), DENIED, statement);
      }
    }
    await assert.rejects(asGateway('CREATE TABLE stampgate.another ()'), DENIED);
  });

  attack('calls a function of an earlier release, or of the owner', 'permission denied', async () => {
    for (const call of EARLIER) await assert.rejects(asGateway(`SELECT stampgate.${call}`), DENIED, call);
  });

  attack('applies retention again and again', 'nothing is deleted that is not due', async () => {
    const { eventId } = await deliverTo(gateways[0]);
    for (let round = 0; round < 3; ++round) assert.equal(await asGateway('SELECT stampgate.trim_events()'), 'f');
    await readAll(eventId);
  });

  attack(
    'has temporary tables with the names of the tables, and another search path',
    'no effect: the functions use the tables of the store',
    async () => {
      const { eventId } = await deliverTo(gateways[0]);
      const text = `CREATE TEMPORARY TABLE bounds AS TABLE stampgate.bounds;
        CREATE TEMPORARY TABLE log AS TABLE stampgate.log; CREATE TEMPORARY TABLE parts AS TABLE stampgate.parts;
        UPDATE pg_temp.bounds SET retention_age_us = -1, retention_bytes = 0; UPDATE pg_temp.log SET part = part + 1;
        GRANT ALL ON pg_temp.bounds, pg_temp.log, pg_temp.parts TO PUBLIC; SET search_path = pg_temp, stampgate;
        SELECT stampgate.trim_events(), stampgate.trim_events()`;
      assert.equal(await asGateway(text), 'f|f');
      await readAll(eventId);
    },
  );

  attack('stores an event without a seal', 'refused by the server', async () => {
    await assert.rejects(
      asGateway(storeEvent({ id: 'unsealed', body: '{}' })),
      /violates check constraint "events_are_sealed"/,
    );
  });

  attack('stores a row so large that gateways could not read it', 'refused by the server', async () => {
    const seal = randomBytes(32);
    for (const name of ['id', 'type', 'headers', 'body', 'signature']) {
      const large = { [name]: "repeat('x', 20000000)::bytea" };
      const store = asGateway(storeEvent({ id: 'large', seal, large }));
      await assert.rejects(store, /index row|violates check constraint "events_have_bounds"/, name);
    }
    const renew = `SELECT stampgate.renew_rates('x', 1, '{}', '{}', '{}', '{}', '{}',
      ARRAY[repeat('x', 20000000)::bytea], '{c}', '{1}', '{1}')`;
    await assert.rejects(asGateway(renew), /violates check constraint "replicas_have_bounds"/);
    await readAll((await deliverTo(gateways[0])).eventId);
  });

  attack('stores an event again that the log has, with its seal', 'it is not stored again', async () => {
    const { eventId } = await deliverTo(gateways[0]);
    const before = await readAll(eventId);
    const replay = `SELECT s.outcomes[1] FROM stampgate.events e, stampgate.store_events(false, ARRAY[e.event_id],
      ARRAY[e.organization_id], ARRAY[e.organization_id], ARRAY[e.parent_organization_id], ARRAY[e.type], ARRAY[e.key_id],
      ARRAY[e.timestamp_ms], ARRAY[e.signature], ARRAY[e.headers], ARRAY[e.body_sha256], ARRAY[''::bytea], ARRAY[e.body],
      ARRAY[e.seal]) s WHERE e.event_id = ${bytea(eventId)}`;
    assert.equal(await asGateway(replay), '1');
    assert.deepEqual(await readAll(eventId), before);
  });

  attack(
    'raises the timestamps of a lease, also of its own',
    "at most ten minutes ahead of the server's clock",
    async () => {
      const last = '9223372036854775807';
      const name = await asGateway(
        "SELECT encode(holder, 'hex') FROM stampgate.leases WHERE holder IS NOT NULL LIMIT 1",
      );
      const index = await asGateway(`SELECT index FROM stampgate.leases WHERE holder = '\\x${name}'`);
      const extend = (secret, ms) => asGateway(`SELECT stampgate.extend_lease(false, ${index}, ${secret}, ${ms})`);
      await assert.rejects(extend(`'\\x${name}'`, last), /too far ahead of the clock/);
      assert.equal(await extend(`'\\x${name}'`, Date.now() + 1000), 'f', 'the name of a holder is not its secret');
      for (const gateway of gateways) await gateway.call(...rename('still has timestamps'));
    },
  );

  attack('gives back quota of another, or declares a replica silent', 'no effect', async () => {
    const quota = `${bytea('q')}, 86400000000`;
    const take = (secret) =>
      asGateway(`SELECT used FROM stampgate.take_calls(false, ${bytea(secret)}, ${quota}, 1000, 10)`);
    assert.equal(await take('honest'), '10');
    const part = await asGateway(`SELECT part FROM stampgate.quotas WHERE quota = ${bytea('q')}`);
    for (const secret of ['other', createHash('sha256').update('honest').digest()]) {
      await asGateway(`SELECT stampgate.return_calls(${bytea(secret)}, ${quota}, ${part}, 10)`);
    }
    assert.equal(await take('honest'), '20');
    await asGateway(`SELECT stampgate.return_calls(${bytea('honest')}, ${quota}, ${part}, 1000)`);
    assert.equal(await take('honest'), '10');

    const renew = (secret, round, silent = '{}', numbers = '{}') =>
      asGateway(`SELECT granted FROM stampgate.renew_rates(${bytea(secret)}, ${round}, '${silent}', '${numbers}',
        ${array('rate')}, '{0}', '{600000}', '{}', '{}', '{}', '{}')`);
    assert.equal(await renew('first', 1), '{600000}');
    const first = createHash('sha256').update('first').digest('hex');
    assert.equal(await renew('second', 1, `{"\\\\\\\\x${first}"}`, '{1}'), '{400000}');
  });

  attack(
    'stores an event that upstream did not sign',
    'no subscriber receives it and it ends no wait: calls that read it end with DATA_LOSS, as for a damaged event, and can continue after it',
    async () => {
      const { simulator } = stack;
      simulator.addFaults([{ kind: 'pending', times: 1, match: { path: 'update_organization_name' } }]);
      const wait = gateways[0].call(...rename('waits', { wait_until: 'WAIT_UNTIL_FINAL' }), { deadlineMs: HANG_MS });
      await until(() => simulator.service.open.ids().length === 1, 'the activity');
      const [activity] = simulator.service.open.ids();
      const subscriber = await Subscriber.start(gateways[1], LATEST);
      const genuine = await deliverTo(gateways[0]);
      assert.deepEqual(idsOf(await subscriber.events(1)), [genuine.eventId]);

      const truth = { ...simulator.service.state.activitiesById.get(activity), status: 'ACTIVITY_STATUS_COMPLETED' };
      const body = JSON.stringify({ ...truth, result: {} });
      assert.equal(await asGateway(storeEvent({ id: 'forged', body, seal: randomBytes(32) })), '0');
      const failure = await subscriber.failure();
      assert.equal(failure.code, 'DATA_LOSS');
      assert.equal((await metricsOf(gateways[1])).get('stampgate_call_errors_total{reason="EVENT_DAMAGED"}'), 1);
      await assert.rejects(gateways[0].call('EventService/GetEvent', { event_id: 'forged' }));

      const next = await deliverTo(gateways[0]);
      assert.equal(next.status, 200);
      const resumed = new Subscriber(gateways[1], { cursor: failure.metadata.next_cursor });
      assert.deepEqual(idsOf(await resumed.events(1)), [next.eventId]);
      await resumed.leave();
      assert.deepEqual(simulator.service.open.ids(), [activity], 'the wait has not ended');
      simulator.endActivity(activity);
      assert.equal((await wait).activity.status, 'ACTIVITY_STATUS_COMPLETED');
    },
  );

  attack(
    'leaves a transaction open that has stored something',
    'deliveries get 503, and upstream repeats them, until it ends',
    async () => {
      const held = postgres.sql(
        `BEGIN; SELECT stampgate.store_events(false, '{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}');
       SELECT pg_sleep(7); COMMIT`,
        GATEWAY,
      );
      await until(async () => (await deliverTo(gateways[0])).status === 503, 'a delivery is refused');
      await held;
      await until(async () => (await deliverTo(gateways[0])).status === 200, 'deliveries are accepted again');
    },
  );

  attack(
    'changes the row of an idempotency key, under a lease of its own',
    'the next calls with this key send nothing, and end with OUTCOME_NOT_STORED',
    async () => {
      const key = { idempotency_key: 'key-1', timestamp_ms: String(Date.now()) };
      await gateways[0].call(...rename('keyed', key));
      const own = bytea(randomBytes(32));
      const lease = await asGateway(`SELECT lease FROM stampgate.begin_lease(${own})`);
      const change = (activity) =>
        asGateway(`SELECT stampgate.store_submits(false, ${lease}, ${own}, 1, ARRAY[caller], ARRAY[key],
        ARRAY[version + 1], ARRAY[number], ARRAY[stored_age_us], ARRAY[request_sha256], ARRAY[body_sha256],
        ARRAY[timestamp_ms - 3600000], ARRAY[open_attempts], ARRAY[end_kind], ARRAY[end_code], ARRAY[end_domain], ARRAY[end_reason],
        ARRAY[${activity}::bytea], ARRAY[activity_status], ARRAY[seal]) FROM stampgate.submits`);
      await assert.rejects(change("repeat('x', 300)"), /violates check constraint "submits_have_bounds"/);
      await change("'another'");
      const { requests } = stack.simulator.stats();
      const { reason } = described(await gateways[1].refusal(...rename('keyed', key)));
      assert.equal(reason, 'OUTCOME_NOT_STORED');
      assert.equal(stack.simulator.stats().requests, requests);
      assert.equal(
        (await gateways[0].call(...rename('other', { idempotency_key: 'key-2' }))).activity.status,
        'ACTIVITY_STATUS_COMPLETED',
      );
      await asGateway(`SELECT stampgate.end_lease(${lease}, ${own}, 0)`);
    },
  );

  attack(
    'reports that the server has lost idempotency keys',
    'for `store.key_retention`, submits with a key end with IDEMPOTENCY_KEY_UNCERTAIN or OUTCOME_NOT_STORED; nothing is sent twice',
    async () => {
      await asGateway('SELECT stampgate.report_loss(0, 9223372036854775807)');
      const bound = await postgres.sql('SELECT through_ms FROM stampgate.leases WHERE index = 0');
      assert.ok(Number(bound) < Date.now() + 11 * 60_000, bound);
      const refused = described(await gateways[0].refusal(...rename('late', { idempotency_key: 'key-3' })));
      assert.equal(refused.reason, 'IDEMPOTENCY_KEY_UNCERTAIN');
      await gateways[0].call(...rename('without a key'));
    },
  );

  attack(
    'takes all leases of timestamps',
    'no further gateway starts for ten minutes; the others continue',
    async () => {
      const secrets = 'SELECT lease FROM generate_series(1, 70) AS n, stampgate.begin_lease(sha256(n::text::bytea))';
      assert.equal((await asGateway(secrets)).split('\n').filter((lease) => lease !== '').length, 62);
      assert.match(await stack.startFault(), /64 gateways use the store already/);
      for (const gateway of gateways) await gateway.call(...rename('continues'));
    },
  );

  attack(
    'calls each function with NULL, extreme values and arrays of different lengths',
    'errors, or what the other rows describe; the gateways continue',
    async (t) => {
      const random = new Random(t);
      const list =
        await asGateway(`SELECT p.oid::regprocedure FROM pg_proc p WHERE p.pronamespace = 'stampgate'::regnamespace
        AND has_function_privilege(p.oid, 'EXECUTE') ORDER BY 1`);
      const functions = list.split('\n');
      assert.equal(functions.length, 26, list);
      for (const signature of functions) {
        const [, name, types] = /^(.*)\((.*)\)$/.exec(signature);
        const calls = Array.from({ length: 100 }, () => {
          const values = types === '' ? [] : types.split(',').map((type) => `${random.pick(HOSTILE[type])}::${type}`);
          return `BEGIN PERFORM ${name}(${values.join(', ')}); EXCEPTION WHEN OTHERS THEN NULL; END;`;
        });
        await asGateway(`DO $$ BEGIN ${calls.join('\n')} END $$`);
      }
      for (const gateway of gateways) {
        const { status, eventId } = await deliverTo(gateway);
        assert.equal(status, 200);
        assert.equal((await gateway.call('EventService/GetEvent', { event_id: eventId })).event.event_id, eventId);
        await gateway.call(...rename('continues'));
      }
    },
  );

  test('gateway/SECURITY.md has the table of these attacks', () => {
    const page = readFileSync(join(root, 'gateway/SECURITY.md'), 'utf8');
    const table = ['| somebody who has only the role of the gateways | what happens |', '|---|---|', ...ROWS].join(
      '\n',
    );
    assert.ok(page.includes(table), `the page must have:\n${table}`);
  });
});
