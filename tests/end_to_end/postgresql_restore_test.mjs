// A store on PostgreSQL is restored to an earlier state, with PostgreSQL's own backup. Upstream, callers and subscribers
// know more than the restored store.
//
// Each test restores to another kind of target. All servers are lost, so the restored server is a new one, and its
// standby is a new copy. The steps are those of deploy/README.md.
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import { Machine } from '../machine/machine.mjs';
import { root } from '../paths.mjs';
import { PostgresBackup, PostgresCluster, PostgresServer } from '../postgresql/cluster.mjs';
import { ORGANIZATION } from '../simulator/testing.mjs';
import { metricsOf } from './admin_port.mjs';
import { deliver } from './event_stack.mjs';
import { described } from './failures.mjs';
import { HANG_MS, scratch } from './harness.mjs';
import { until } from './processes.mjs';
import { SharedLogStack } from './shared_log_stack.mjs';
import { EARLIEST, LATEST, Subscriber, idsOf, listAll } from './subscriber.mjs';

const page = readFileSync(join(root, 'deploy/README.md'), 'utf8');

const TIMEOUT = { timeout: 3 * HANG_MS };
const METHOD = 'OrganizationService/UpdateOrganizationName';

/** The settings with which a restoration ends at the present state of the primary. */
const TARGETS = {
  'a named restore point': async (scene) => {
    const [command] = /^SELECT pg_walfile_name\(pg_create_restore_point.*$/m.exec(page.replace(/^ {4}/gm, ''));
    const [file] = (await scene.primary.sql(command)).split('|');
    await until(() => existsSync(join(scene.backup.archive, file)), `the archive has ${file}`);
    scene.targetIsArchived = true;
    return ["recovery_target_name = 'before_the_mistake'"];
  },
  'a time': async ({ primary }) => [`recovery_target_time = '${await primary.sql('SELECT clock_timestamp()')}'`],
  'a position of the log': async ({ primary }) => [
    `recovery_target_lsn = '${await primary.sql('SELECT pg_current_wal_lsn()')}'`,
  ],
  // The archive has only whole files, so the loss of the servers loses what came after the last whole file.
  'the end of the archive': async ({ primary, backup }) => {
    await backup.complete(primary);
    return [];
  },
};

/** Equal submits of these names get timestamps up to 0.8 s ahead of the clock. */
const NAMES = Array.from({ length: 8 }, (_, index) => `equal ${index}`);
const EQUAL_SUBMITS = 12;
/** The time by which a gateway's clock is ahead. `store restored` allows for 30 s. */
const AHEAD_MS = 25_000;

const requestOf = (organization_name, more = {}) => ({
  organization_id: ORGANIZATION,
  parameters: { organization_name },
  ...more,
});
const keyed = (name) => requestOf(name, { idempotency_key: randomUUID() });

/** A store, whose gateways and servers live until they are lost. The restored store begins a second life. */
class Scene {
  static async make(t, { version, target }) {
    const scene = new Scene();
    const backup = new PostgresBackup(t);
    const cluster = await PostgresCluster.create(t, { version, size: 2, settings: backup.settings });
    const { primary } = cluster;
    Object.assign(scene, { t, version, backup, cluster, primary });
    scene.makeTarget = () => TARGETS[target](scene);
    for (const role of ['owner', 'gateway']) await primary.sql(`CREATE ROLE ${role} LOGIN`);
    await primary.sql('CREATE DATABASE events OWNER owner');
    scene.machine = new Machine(scratch(t), scratch(t));
    const stack = await SharedLogStack.prepare(t, {
      ...{ hosts: cluster.hosts, database: 'events', user: 'gateway', migrate: false },
    });
    t.after(() => scene.machine.close());
    scene.stack = stack;
    stack.simulator.webhooks.change({ maxAttempts: 1 });
    const migrated = await stack.command('migrate', { user: 'owner' }, '--grant-to', 'gateway');
    assert.equal(migrated.status, 0, migrated.stderr);
    return scene;
  }

  /** Starts a gateway on the servers of this life. */
  start() {
    return this.stack.start({ hosts: this.cluster.hosts }, { env: this.machine.env });
  }

  /** Sets the clock of the gateways. */
  setClock(ms) {
    this.machine.clockOffsetMs = ms - Date.now();
  }

  /** Delivers events to a gateway, which stores them. Resolves to their ids. */
  async deliver({ webhookUrl: url }, ...names) {
    for (const eventId of names) {
      const { status, error } = await deliver(this.stack.simulator, {
        url,
        eventId,
        body: JSON.stringify({ eventId }),
      });
      assert.equal(status, 200, error);
    }
    return names;
  }

  /** What upstream has received: the timestamps of the submits with this organization's name. */
  timestamps(name) {
    return this.stack.simulator
      .requests()
      .filter(({ path }) => path.includes('/submit/'))
      .map(({ body }) => JSON.parse(body))
      .filter(({ parameters }) => name === undefined || parameters.organizationName === name)
      .map(({ timestampMs }) => Number(timestampMs));
  }

  /** Runs gateways until all servers are lost. */
  async live() {
    const { simulator } = this.stack;
    const gateway = await this.start();
    const submit = (request) => gateway.call(METHOD, request).then(({ activity }) => activity);
    this.events = await this.deliver(gateway, 'evt_1', 'evt_2', 'evt_3');
    this.early = { request: keyed('early') };
    this.early.activity = await submit(this.early.request);
    await this.backup.take(this.primary);

    this.events.push(...(await this.deliver(gateway, 'evt_4', 'evt_5', 'evt_6')));
    this.known = { request: keyed('known') };
    this.known.activity = await submit(this.known.request);
    // Upstream refuses it, and later carries it out.
    this.changed = { request: keyed('changed') };
    simulator.addFaults([{ kind: 'error', code: 'PERMISSION_DENIED' }]);
    await gateway.refusal(METHOD, this.changed.request);
    this.before = (await gateway.call('EventService/ListEvents', { ...EARLIEST, page_size: 4 })).cursor;
    this.at = (await gateway.call('EventService/ListEvents', LATEST)).cursor;
    await this.stored(this.changed.request);
    this.target = await this.makeTarget();

    this.lostEvents = await this.deliver(gateway, 'evt_7', 'evt_8', 'evt_9');
    const lost = await gateway.call('EventService/ListEvents', { cursor: this.at });
    assert.deepEqual(idsOf(lost.events), this.lostEvents);
    this.after = lost.events.map(({ cursor }) => cursor);
    this.lost = { request: keyed('lost') };
    this.lost.activity = await submit(this.lost.request);
    this.changed.activity = await submit(this.changed.request);
    await gateway.stop();

    this.setClock(Date.now() + AHEAD_MS);
    const ahead = await this.start();
    for (const name of NAMES) {
      await Promise.all(Array.from({ length: EQUAL_SUBMITS }, () => ahead.call(METHOD, requestOf(name))));
    }
    await ahead.stop();
    this.used = this.timestamps();
    if (this.target.length > 0 && !this.targetIsArchived) await this.backup.complete(this.primary);
    for (const server of this.cluster.servers) await server.lose();
  }

  /** Resolves when the server has the outcome of the attempt, which the gateway stores after its response. */
  async stored({ idempotency_key: key }) {
    const look = `SELECT open_attempts FROM stampgate.submits WHERE key = '${key}'`;
    await until(async () => (await this.primary.sql(look, { database: 'events' })) === '0', 'the outcome is stored');
  }

  /** Restores the server, and gives it a standby. */
  async restore() {
    const { t, version, backup, target } = this;
    this.primary = await PostgresServer.restore(t, backup, { version, name: 'n1', target });
    const standby = await PostgresServer.standbyOf(t, this.primary, 'n2');
    this.cluster = { hosts: [this.primary.host, standby.host] };
  }

  /** Runs `stampgate store restored`. */
  mark(store) {
    return this.stack.command('restored', { hosts: this.cluster.hosts, ...store });
  }

  /** The reason why a submit is refused. */
  async reason(gateway, request) {
    const { code, reason } = described(await gateway.refusal(METHOD, request));
    return `${code} ${reason}`;
  }
}

/** Checks that each call with a cursor of a lost event ends with DATA_LOSS. */
async function refusesLostCursors(scene, gateway) {
  for (const cursor of scene.after) {
    const list = described(await gateway.refusal('EventService/ListEvents', { cursor }));
    const subscription = await new Subscriber(gateway, { cursor }).failure();
    for (const { code, reason } of [list, subscription]) {
      assert.deepEqual([code, reason], ['DATA_LOSS', 'CURSOR_AHEAD_OF_LOG']);
    }
  }
}

/** Checks that the log goes on after the restored events, and that each subscriber notices what it has lost. */
async function eventsGoOn(scene, gateway) {
  assert.deepEqual(idsOf(await listAll(gateway)), scene.events, 'the log ends at the target');
  await refusesLostCursors(scene, gateway);
  const before = new Subscriber(gateway, { cursor: scene.before });
  const at = new Subscriber(gateway, { cursor: scene.at });
  assert.deepEqual(idsOf(await before.events(2)), scene.events.slice(4));

  // A lost event is sent again, and a stored one. The log grows beyond the lost events.
  const more = [];
  for (const names of [['evt_8'], ['evt_10', 'evt_11'], ['evt_12']]) {
    more.push(...(await scene.deliver(gateway, ...names)));
    await scene.deliver(gateway, 'evt_2', ...names);
    await refusesLostCursors(scene, gateway);
  }
  const metrics = await metricsOf(gateway);
  assert.equal(metrics.get('stampgate_deliveries_total{outcome="stored"}'), more.length);
  for (const subscriber of [before, at]) {
    assert.deepEqual(idsOf(await subscriber.events(more.length)), more);
    await subscriber.leave();
  }
  const log = await listAll(gateway);
  assert.deepEqual(idsOf(log), [...scene.events, ...more]);
  for (const { event_id: id, body } of log) assert.deepEqual(JSON.parse(body), { eventId: id });
}

for (const [version, target] of [
  [15, 'a named restore point'],
  [18, 'a time'],
  [18, 'the end of the archive'],
]) {
  test(
    `a store on PostgreSQL ${version} that is restored to ${target} and marked repeats nothing`,
    TIMEOUT,
    async (t) => {
      const scene = await Scene.make(t, { version, target });
      await scene.live();
      await scene.restore();
      const { simulator } = scene.stack;
      const refused = await scene.mark();
      assert.equal(refused.status, 1);
      assert.match(refused.stderr, /permission denied for function repair_store/);
      const { stdout, ...result } = await scene.mark({ user: 'owner' });
      assert.deepEqual(result, { status: 0, signal: null, stderr: '' });
      assert.match(stdout, /^schema stampgate: timestamps will begin above earlier ones; for 24h, /);
      // The clock has been set right meanwhile.
      scene.machine.clockOffsetMs = 0;
      const gateway = await scene.start();
      await eventsGoOn(scene, gateway);

      simulator.clearRequests();
      for (const { request, activity } of [scene.early, scene.known]) {
        const answer = await gateway.call(METHOD, request);
        assert.deepEqual(answer.activity, { id: activity.id, status: activity.status }, 'the key has its activity');
      }
      assert.equal(await scene.reason(gateway, scene.changed.request), 'UNKNOWN OUTCOME_NOT_STORED');
      for (const request of [scene.lost.request, keyed('new')]) {
        assert.equal(await scene.reason(gateway, request), 'UNKNOWN IDEMPOTENCY_KEY_UNCERTAIN');
      }
      assert.deepEqual(scene.timestamps(), [], 'nothing is sent for a key');

      const [latest] = scene.used.sort((a, b) => b - a);
      for (const name of NAMES) for (let i = 0; i < 2; ++i) await gateway.call(METHOD, requestOf(name));
      const given = scene.timestamps();
      assert.equal(given.length, 2 * NAMES.length);
      for (const timestamp of given) assert.ok(timestamp > latest, `${timestamp} is above ${latest}`);
    },
  );
}

test('the page has the settings that these tests use', (t) => {
  const backup = new PostgresBackup(t);
  const target = ["recovery_target_name = 'before_the_mistake'"];
  for (const line of [...backup.settings, ...backup.settingsOfRestoration(target)]) {
    const inPage = line.replaceAll(dirname(backup.base), '/backup');
    assert.ok(page.includes(` ${inPage}\n`), inPage);
  }
});

test(
  'a server ends if its archive does not reach the target, and restores all if the target is removed',
  TIMEOUT,
  async (t) => {
    const version = 18;
    const backup = new PostgresBackup(t);
    const { primary } = await PostgresCluster.create(t, {
      version,
      size: 1,
      confirmations: 0,
      settings: backup.settings,
    });
    await primary.sql('CREATE TABLE kept (number int)');
    await backup.take(primary);
    await primary.sql('INSERT INTO kept VALUES (1)');
    await backup.complete(primary);
    // The file with the point is never archived.
    await primary.sql("SELECT pg_create_restore_point('before_the_mistake')");
    await primary.lose();
    const target = ["recovery_target_name = 'before_the_mistake'"];
    const message = 'recovery ended before configured recovery target was reached';
    assert.ok(page.replaceAll(/\s+/g, ' ').includes(`"${message}": remove the line of the target`));
    await assert.rejects(PostgresServer.restore(t, backup, { version, name: 'n1', target }), new RegExp(message));
    const restored = await PostgresServer.restore(t, backup, { version, name: 'n2' });
    assert.equal(await restored.sql('SELECT count(*) FROM kept'), '1');
  },
);

// The negative control of the command.
test('a restored store that is not marked refuses lost cursors, and repeats submits', TIMEOUT, async (t) => {
  const scene = await Scene.make(t, { version: 18, target: 'a position of the log' });
  await scene.live();
  const usedBy = new Map(NAMES.map((name) => [name, scene.timestamps(name)]));
  await scene.restore();
  scene.setClock(Math.min(...usedBy.get(NAMES[0])) - 5000);
  const gateway = await scene.start();
  await eventsGoOn(scene, gateway);

  // The gateway sends a submit again whose key is lost, with another timestamp. Upstream carries it out again.
  const again = await gateway.call(METHOD, scene.lost.request);
  assert.equal(again.activity.status, 'ACTIVITY_STATUS_COMPLETED');
  assert.notEqual(again.activity.id, scene.lost.activity.id);

  // When the clock returns to the time of the lost submits, a new submit gets the timestamp of a lost one. Upstream
  // interprets it as a repetition, and does not carry it out.
  const repeated = [];
  for (const name of NAMES) {
    scene.setClock(Math.min(...usedBy.get(name)));
    scene.stack.simulator.clearRequests();
    await gateway.call(METHOD, requestOf(name));
    const [timestamp] = scene.timestamps(name);
    if (usedBy.get(name).includes(timestamp)) repeated.push(name);
  }
  assert.ok(repeated.length > 0, 'a timestamp is repeated');
});
