// Negative controls of the tests of a shared store. Each test takes one protection out of the store or the config, and then
// the judge of histories must find the fault that this protection prevents. The gateways are the real ones.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { PostgresServer } from '../postgresql/cluster.mjs';
import { ORGANIZATION } from '../simulator/testing.mjs';
import { deliver } from './event_stack.mjs';
import { HANG_MS } from './harness.mjs';
import { seen } from './history/follower.mjs';
import { judge } from './history/judge.mjs';
import { until } from './processes.mjs';
import { Random } from './random.mjs';
import { Scene, emptySettingWhileCommitsWait } from './shared_log_scene.mjs';
import { SharedLogStack } from './shared_log_stack.mjs';
import { alter } from './stored_functions.mjs';
import { idsOf, listAll } from './subscriber.mjs';

const TIMEOUT = { timeout: 2 * HANG_MS };
const ONE_SERVER = { size: 1, confirmations: 0, gateways: 2 };
const METHOD = 'OrganizationService/UpdateOrganizationName';

/** The judge's findings about a scene whose subscribers have perhaps ended. */
async function findingsOf(scene) {
  const { sender, followers, slots } = scene;
  await sender.abandon();
  await Promise.all(followers.map((follower) => follower.stop()));
  const log = await listAll(slots[0].up).catch(() => []);
  return judge(scene.history(log.map(seen)));
}

/** Resolves when the judge finds lost events: a gateway lists its latest events from memory until it detects the loss. */
async function findsLoss(scene) {
  const findings = async () => judge(scene.history((await listAll(scene.slots[0].up)).map(seen)));
  const isLoss = (finding) => /was acknowledged and is not in the log/.test(finding);
  const look = () =>
    findings().then(
      (found) => found.some(isLoss),
      () => false,
    );
  await until(look, 'the log can be read, and the judge finds lost events');
}

test('the judge finds positions that come from a plain sequence', TIMEOUT, async (t) => {
  const scene = await Scene.make(t, new Random(t), ONE_SERVER);
  const { primary } = scene.cluster;
  await scene.sender.progress();
  const latest = await primary.sql('SELECT latest FROM stampgate.log');
  await primary.sql(`CREATE SEQUENCE stampgate.positions START ${Number(latest) + 1000}`);
  await alter(primary, 'store_events', [
    ['head := lock_log(server_us());', 'SELECT * INTO STRICT head FROM log;'],
    ['FOR i IN 1 .. cardinality(event_ids) LOOP', "$& head.latest := nextval('stampgate.positions');"],
    ['head.latest + 1, body_sha256s[i]', 'head.latest, body_sha256s[i]'],
    ['head.latest := head.latest + 1;', ''],
  ]);
  await until(() => scene.followers.some(({ isOver }) => isOver), 'a subscription ends');
  const findings = await findingsOf(scene);
  assert.ok(
    findings.some((finding) => /its call ended with DATA_LOSS/.test(finding)),
    findings.join('\n'),
  );
});

test('the judge finds an event that is stored twice without the unique index', TIMEOUT, async (t) => {
  const scene = await Scene.make(t, new Random(t), ONE_SERVER);
  const { simulator } = scene.stack;
  await scene.sender.progress();
  await scene.cluster.primary.sql('ALTER TABLE stampgate.seen DROP CONSTRAINT seen_pkey');
  const repeated = { eventId: 'evt_repeated', body: '{"number":1}' };
  scene.sender.sent.push(repeated.eventId);
  for (const { up } of scene.slots) {
    assert.equal((await deliver(simulator, { url: up.webhookUrl, ...repeated })).status, 200);
  }
  const findings = await findingsOf(scene);
  assert.ok(findings.includes('event evt_repeated is in the log 2 times'), findings.join('\n'));
});

test('the judge finds the events that a crash loses with synchronous_commit=off', TIMEOUT, async (t) => {
  const scene = await Scene.make(t, new Random(t), ONE_SERVER);
  const { primary } = scene.cluster;
  await scene.sender.progress();
  await primary.set('wal_writer_delay', '10s');
  // The gateway turns the setting on in each transaction, and verifies it as its last statement. These triggers turn the
  // setting off during the COMMIT. They are on all tables, because any other COMMIT would make the events durable.
  await primary.sql(`
    CREATE FUNCTION stampgate.wait_for_nothing() RETURNS trigger LANGUAGE plpgsql AS
      $$ BEGIN PERFORM set_config('synchronous_commit', 'off', true); RETURN NULL; END $$`);
  // A transaction that locks several tables can deadlock with the gateways' transactions, so each table has its own.
  await primary.sql(`
    DO $$
      DECLARE written regclass;
      BEGIN
        FOR written IN SELECT oid FROM pg_class
          WHERE relnamespace = 'stampgate'::regnamespace AND relkind IN ('r', 'p') AND NOT relispartition
        LOOP
          EXECUTE format('CREATE CONSTRAINT TRIGGER off AFTER INSERT OR UPDATE OR DELETE ON %s DEFERRABLE INITIALLY '
            'DEFERRED FOR EACH ROW EXECUTE FUNCTION stampgate.wait_for_nothing()', written);
          COMMIT;
        END LOOP;
      END $$`);
  await scene.sender.progress();
  await primary.kill();
  await scene.sender.abandon();
  await primary.start();
  await findsLoss(scene);
});

test('the judge finds events that a standby does not show yet', TIMEOUT, async (t) => {
  const scene = await Scene.make(t, new Random(t), { size: 2, confirmations: 1, gateways: 1 });
  const [standby] = scene.cluster.standbys;
  await scene.sender.progress();
  await standby.sql('SELECT pg_wal_replay_pause()');
  await scene.sender.progress();
  await scene.sender.stop();
  const whole = await listAll(scene.slots[0].up);
  const there = await standby.sql("SELECT convert_from(event_id, 'UTF8') FROM stampgate.events");
  const read = new Set(there.split('\n'));
  const findings = judge(scene.history(whole.filter(({ event_id }) => read.has(event_id)).map(seen)));
  assert.ok(
    findings.some((finding) => /was acknowledged and is not in the log/.test(finding)),
    findings.join('\n'),
  );
  // A gateway never reads there.
  const { stack } = scene;
  const gateway = await stack.start({ hosts: [standby.host] });
  const refusal = await gateway.refusal('EventService/ListEvents', { end: 'LOG_END_EARLIEST' });
  assert.equal(refusal.info.reason, 'EVENT_LOG_UNAVAILABLE');
  assert.equal(idsOf(await listAll(scene.slots[0].up)).length, whole.length);
});

test('the judge finds the events that are lost with an emptied setting if nobody proves them', TIMEOUT, async (t) => {
  // The gateways accept what a single server has committed.
  const store = { allow_single_server: true };
  const scene = await Scene.make(t, new Random(t), { size: 2, confirmations: 1, gateways: 2, store });
  const { cluster, sender } = scene;
  await sender.progress();
  await emptySettingWhileCommitsWait(cluster);
  await sender.progress();
  await cluster.primary.kill();
  await sender.abandon();
  await cluster.failOver();
  await findsLoss(scene);
});

test('a look-up finds the false answer of a gateway that knows only the old primary', TIMEOUT, async (t) => {
  const store = { allow_single_server: true };
  const scene = await Scene.make(t, new Random(t), { size: 2, confirmations: 1, gateways: 1, relayed: false, store });
  const { cluster, sender, stack } = scene;
  const [standby] = cluster.standbys;
  await sender.progress();
  const confined = { up: await stack.start({ hosts: [cluster.primary.host] }) };
  cluster.primary.pause();
  const old = await cluster.failOver();
  await standby.set('synchronous_standby_names', '');
  old.continue();
  scene.slots.push(confined);
  await until(() => sender.faults.length > 0, 'a look-up gets a false answer');
  assert.match(sender.faults[0], /^event evt_\d+ was acknowledged, and a look-up ended with NOT_FOUND/);
  await sender.abandon();
});

test('the judge finds the events of a gateway that has grown a store of its own', TIMEOUT, async (t) => {
  // As if a pool had dropped the path of the schema from the session of this gateway.
  const scene = await Scene.make(t, new Random(t), ONE_SERVER);
  await scene.slots[1].kill();
  scene.stack.store.schema = 'another';
  await scene.slots[1].start();
  await scene.sender.progress();
  const findings = await findingsOf(scene);
  assert.ok(
    findings.some((finding) => /was acknowledged and is not in the log/.test(finding)),
    findings.join('\n'),
  );
});

/** Makes equal submits at a gateway whose only lease another one has taken, and at this other one. */
async function timestampsOfTwo(t, change) {
  const postgres = await PostgresServer.create(t);
  const stack = await SharedLogStack.prepare(t, { hosts: [postgres.host], allow_single_server: true });
  const first = await stack.start();
  await postgres.sql('DELETE FROM stampgate.leases WHERE holder IS NULL');
  await change(postgres);
  await postgres.sql('UPDATE stampgate.leases SET renewed_us = 0');
  const second = await stack.start();
  const submit = { organization_id: ORGANIZATION, parameters: { organization_name: 'New' } };
  const calls = [first, second].flatMap((gateway) =>
    Array.from({ length: 8 }, () => gateway.call(METHOD, submit).catch(() => undefined)),
  );
  await Promise.all(calls);
  const bodies = stack.simulator.requests().filter(({ path }) => path.includes('/submit/'));
  return bodies.map(({ body }) => JSON.parse(body).timestampMs);
}

test('a lease of values lets no timestamp repeat, and a lease of time does', TIMEOUT, async (t) => {
  const values = await timestampsOfTwo(t, () => {});
  assert.ok(values.length > 0);
  assert.equal(new Set(values).size, values.length);
  const times = await timestampsOfTwo(t, (postgres) =>
    // The new holder begins at the present time instead of above the values of the former one.
    alter(postgres, 'take_lease', [['SELECT index, through_ms INTO', 'SELECT index, 0 INTO']]),
  );
  assert.ok(new Set(times).size < times.length, `${times}`);
});
