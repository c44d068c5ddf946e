// What the recorder and the tests of upgrades do with a gateway: they write its store, its audit log and its cursors, and
// check that another release of the gateway continues with them.
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { chmodSync, mkdirSync, readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { gunzipSync, gzipSync } from 'node:zlib';
import { deliver } from '../end_to_end/event_stack.mjs';
import { described } from '../end_to_end/failures.mjs';
import { Gateway, run, writeKey } from '../end_to_end/harness.mjs';
import { EARLIEST, Subscriber, idsOf, listAll } from '../end_to_end/subscriber.mjs';
import { ORGANIZATION, identifier, subOrganization } from '../simulator/testing.mjs';

const PSQL = '/usr/lib/postgresql/15/bin/psql';

/** After this time, a gateway may not send a submit again. */
export const AN_HOUR_MS = 61 * 60_000;

export const SUBMIT = 'OrganizationService/UpdateOrganizationName';

/** A submit with an idempotency key. */
export const requestOf = (name) => ({
  organization_id: ORGANIZATION,
  parameters: { organization_name: name },
  idempotency_key: name.replaceAll(' ', '-'),
});

/** Copies a message without Buffers, for JSON. */
export function plain(value) {
  if (Buffer.isBuffer(value)) return { base64: value.toString('base64') };
  if (Array.isArray(value)) return value.map(plain);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, plain(member)]));
}

/** Checks that `actual` has every member of `expected`. A later release may add members. */
export function assertHas(actual, expected, path) {
  if (typeof expected !== 'object' || expected === null) return assert.deepEqual(actual, expected, path);
  assert.equal(typeof actual, 'object', path);
  if (Array.isArray(expected)) assert.equal(actual.length, expected.length, path);
  for (const [name, member] of Object.entries(expected)) assertHas(actual[name], member, `${path}.${name}`);
}

/** The submits that upstream has received, as text. */
export const submitsOf = (simulator) =>
  simulator
    .requests()
    .filter(({ path }) => path.includes('/submit/'))
    .map(({ body }) => body.toString());

const timestampsOf = (bodies) => bodies.map((body) => Number(JSON.parse(body).timestampMs));

/** The result of a call: the response or the error, without what differs in each call. */
export async function resultOf(gateway, request) {
  try {
    return { response: plain(await gateway.call(SUBMIT, request)) };
  } catch (error) {
    const { code, domain, reason } = described(error);
    return { error: { code, domain, reason } };
  }
}

/**
 * Makes submits whose outcomes the store keeps, one of each kind of outcome. Resolves to their outcomes and requests.
 * @param {object} options
 * @param {() => Gateway} options.gateway the running gateway
 * @param {import('../simulator/server.mjs').Simulator} options.simulator
 * @param {string} options.name distinguishes these submits from others
 * @param {() => Promise<void>} options.kill kills the gateway, and starts it again
 */
export async function makeSubmits({ gateway, simulator, name, kill }) {
  const faults = {
    completed: undefined,
    pending: { kind: 'activityStatus', status: 'ACTIVITY_STATUS_PENDING' },
    'needs consensus': { kind: 'activityStatus', status: 'ACTIVITY_STATUS_CONSENSUS_NEEDED' },
    failed: { kind: 'activityStatus', status: 'ACTIVITY_STATUS_FAILED' },
    refused: { kind: 'error', code: 'PERMISSION_DENIED' },
    lost: { kind: 'readAndClose' },
  };
  const submits = [];
  for (const [outcome, fault] of Object.entries(faults)) {
    if (fault) simulator.addFaults([fault]);
    const request = requestOf(`${name} ${outcome}`);
    await resultOf(gateway(), request);
    submits.push({ outcome, request });
  }
  // The process is killed while this submit is at upstream.
  simulator.addFaults([{ kind: 'slow', untilReleased: true }]);
  const request = requestOf(`${name} open`);
  const open = gateway()
    .call(SUBMIT, request)
    .catch(() => {});
  await simulator.waitFor({ held: 1 });
  await kill();
  await open;
  simulator.release();
  return [...submits, { outcome: 'open', request }];
}

/** The status of the activity, or the reason of the error, that a call returns later. */
const LATER = {
  completed: 'ACTIVITY_STATUS_COMPLETED',
  pending: 'ACTIVITY_STATUS_PENDING',
  'needs consensus': 'ACTIVITY_STATUS_CONSENSUS_NEEDED',
  failed: 'ACTIVITY_STATUS_FAILED',
  refused: 'HTTP_403',
  lost: 'OUTCOME_NOT_STORED',
  open: 'OUTCOME_NOT_STORED',
};

/** Adds to each submit what a call returns that repeats it when the gateway may not send it again: `later`. */
export async function addLaterResults({ gateway, submits }) {
  for (const submit of submits) {
    submit.later = await resultOf(gateway, submit.request);
    const { response, error } = submit.later;
    assert.equal(response?.activity.status ?? error.reason, LATER[submit.outcome], submit.outcome);
  }
}

/** Events of each kind: an activity, a balance, a transaction, an unknown type, and bodies that are no JSON objects. */
export function eventsOf(name) {
  const json = (value) => Buffer.from(JSON.stringify(value)).toString('base64');
  const activity = (id) => ({
    id,
    organizationId: ORGANIZATION,
    status: 'ACTIVITY_STATUS_COMPLETED',
    type: 'ACTIVITY_TYPE_NEW',
  });
  return [
    { eventId: `${name}-activity`, type: 'ACTIVITY_UPDATES', bodyBase64: json(activity(identifier(61))) },
    {
      eventId: `${name}-balance`,
      type: 'BALANCE_CONFIRMED_UPDATES',
      bodyBase64: json({
        type: 'balances:confirmed',
        organizationId: subOrganization(1),
        parentOrganizationId: ORGANIZATION,
        msg: { operation: 'deposit', caip2: 'eip155:1', txHash: '0x01', address: '0x02', idempotencyKey: 'k' },
      }),
    },
    {
      eventId: `${name}-transaction`,
      type: 'SEND_TRANSACTION_STATUS_UPDATES',
      bodyBase64: json({
        type: 'transaction:status',
        organizationId: ORGANIZATION,
        msg: {
          sendTransactionStatusId: identifier(62),
          activityId: identifier(63),
          status: 'INCLUDED',
          txHash: '0x03',
        },
      }),
    },
    {
      eventId: `${name}-later`,
      type: 'OF_A_LATER_YEAR',
      bodyBase64: json({ organizationId: ORGANIZATION, type: 'new' }),
    },
    { eventId: `${name}-list`, type: 'ACTIVITY_UPDATES', bodyBase64: json([1, 2]) },
    { eventId: `${name}-bytes`, type: 'ACTIVITY_UPDATES', bodyBase64: Buffer.from([0, 0xff, 0x7b]).toString('base64') },
    {
      eventId: `${name}-unicode`,
      type: 'ACTIVITY_UPDATES',
      bodyBase64: json({ ...activity('\u0000\u{1f511}'), more: 1e21 }),
    },
  ];
}

/** Delivers events, each of them twice, and then once with another body, which is not stored. */
export async function sendEvents({ simulator, gateway, events }) {
  // The changed body names the same organization, because the ids of each organization are separate.
  const changed = (event) => {
    const text = Buffer.from(event.bodyBase64, 'base64').toString();
    const body = text.startsWith('{"') ? text.replace('{', '{"changed":true,') : '[3]';
    return { ...event, bodyBase64: Buffer.from(body).toString('base64') };
  };
  for (const event of events) {
    for (const each of [event, event, changed(event)]) {
      const { status } = await deliver(simulator, { url: gateway.webhookUrl, ...each });
      assert.equal(status, 200, event.eventId);
    }
  }
}

/** What a gateway returns about its event log: each event, and the cursor before and after each one. */
export async function readEvents(gateway) {
  const { cursor } = await Subscriber.start(gateway, EARLIEST).then(async (subscriber) => {
    const { first } = subscriber;
    await subscriber.leave();
    return first;
  });
  const events = await listAll(gateway);
  return {
    cursors: [cursor, ...events.map((event) => event.cursor)],
    events: events.map(({ cursor: _, ...event }) => plain(event)),
  };
}

/**
 * Checks that a gateway continues with what was recorded, and then writes more, under the name `name`. The clock of the
 * gateway must be an hour after the recording, so that it may send no recorded submit again.
 * @returns the events that the log has now, and all timestamps
 */
export async function checkContinues({ gateway, simulator, recorded, name }) {
  const { events } = await readEvents(gateway);
  assertHas(events, recorded.events, 'events');
  const ids = idsOf(recorded.events);
  for (const [index, cursor] of recorded.cursors.entries()) {
    assert.deepEqual(idsOf(await listAll(gateway, { cursor })), ids.slice(index), `cursor ${index}`);
  }
  const subscribers = recorded.cursors.map((cursor) => new Subscriber(gateway, { cursor }));
  for (const [index, subscriber] of subscribers.entries()) {
    assert.deepEqual(idsOf(await subscriber.events(ids.length - index)), ids.slice(index));
  }

  simulator.clearRequests();
  for (const { outcome, request, later } of recorded.submits) {
    assert.deepEqual(await resultOf(gateway, request), later, outcome);
    const other = { ...request, parameters: { organization_name: 'another' } };
    const { error } = await resultOf(gateway, other);
    assert.deepEqual([error.code, error.reason], ['INVALID_ARGUMENT', 'IDEMPOTENCY_KEY_REUSED'], outcome);
  }
  assert.deepEqual(submitsOf(simulator), [], 'a repeated submit is not sent');

  await sendEvents({ simulator, gateway, events: recorded.deliveries });
  const deliveries = eventsOf(name);
  await sendEvents({ simulator, gateway, events: deliveries });
  const added = deliveries.map(({ eventId }) => eventId);
  for (const subscriber of subscribers) {
    assert.deepEqual(idsOf(await subscriber.events(added.length)), added, 'a recorded event is not stored again');
    await subscriber.leave();
  }

  const request = requestOf(`${name} completed`);
  const { response } = await resultOf(gateway, request);
  const timestamps = timestampsOf(submitsOf(simulator));
  assert.equal(timestamps.length, 1);
  assert.ok(timestamps[0] > Math.max(...recorded.timestamps), 'the timestamp is above all recorded ones');
  const { id, status } = response.activity;
  return {
    ...(await readEvents(gateway)),
    deliveries: [...recorded.deliveries, ...deliveries],
    submits: [
      ...recorded.submits,
      { outcome: `${name} completed`, request, later: { response: { activity: { id, status } } } },
    ],
    timestamps: [...recorded.timestamps, ...timestamps],
  };
}

/**
 * Makes the calls whose traces a recording has.
 * @param {object} options
 * @param {Runner} options.recorder starts and ends the gateway
 * @param {import('../simulator/server.mjs').Simulator} options.simulator
 * @param {string} options.name distinguishes these calls from others
 * @param {object} [options.before] what the store contains already
 * @returns the recording, with the names of `checkContinues`
 */
export async function recordScene({
  recorder,
  simulator,
  name,
  before = { deliveries: [], submits: [], timestamps: [] },
}) {
  simulator.clearRequests();
  const submits = await makeSubmits({ gateway: () => recorder.gateway, simulator, name, kill: () => recorder.kill() });
  const deliveries = eventsOf(name);
  await sendEvents({ simulator, gateway: recorder.gateway, events: deliveries });
  // A gateway notices a step of the clock only after some time, so another one starts.
  await recorder.stop();
  await recorder.moveClock(AN_HOUR_MS);
  await recorder.start(recorder.command);
  await addLaterResults({ gateway: recorder.gateway, submits });
  // The last timestamp is as late as the recording.
  await recorder.gateway.call(SUBMIT, { organization_id: ORGANIZATION, parameters: { organization_name: 'last' } });
  return {
    ...(await readEvents(recorder.gateway)),
    deliveries: [...before.deliveries, ...deliveries],
    submits: [...before.submits, ...submits],
    timestamps: [...before.timestamps, ...timestampsOf(submitsOf(simulator))],
  };
}

/** Writes a config of the release with these addresses, the key of the gateway, and a password to `folder`. */
export function writeConfig(release, folder, name, addresses) {
  const text = readFileSync(join(release, name), 'utf8');
  const file = join(folder, name);
  const replaced = Object.entries(addresses).reduce((all, [from, to]) => all.replaceAll(from, to), text);
  writeFileSync(file, replaced);
  writeKey(folder);
  writeFileSync(join(folder, 'store.password'), 'the server does not ask for it\n', { mode: 0o600 });
  return file;
}

/** Runs one gateway after another with one config file and one clock. */
export class Runner {
  /**
   * @param {object} t
   * @param {object} options
   * @param {import('../simulator/server.mjs').Simulator} options.simulator
   * @param {import('../machine/machine.mjs').Machine} options.machine sets the clock of the gateways
   * @param {StoreClock} [options.storeClock] the clock of their store on a PostgreSQL server
   * @param {string} options.configFile
   */
  constructor(t, { simulator, machine, storeClock, configFile }) {
    this.simulator = simulator;
    this.machine = machine;
    this.storeClock = storeClock;
    this.configFile = configFile;
    t.after(() => this.gateway?.stop('SIGKILL'));
  }

  /** Starts a gateway. `command` is the program, by default that of this tree. */
  async start(command) {
    this.command = command;
    this.gateway = await Gateway.start({}, { configFile: this.configFile, command, env: this.machine.env });
    return this.gateway;
  }

  async stop() {
    const { status } = await this.gateway.stop();
    assert.equal(status, 0, this.gateway.output);
  }

  /** Kills the gateway, and starts it again. */
  async kill() {
    await this.gateway.stop('SIGKILL');
    await this.start(this.command);
  }

  /** Advances the clocks of the gateway, of the simulator and of the store. */
  async moveClock(ms) {
    this.machine.clockOffsetMs += ms;
    this.simulator.change({ clockOffsetMs: this.machine.clockOffsetMs });
    await this.storeClock?.move(this.machine.clockOffsetMs);
  }
}

/** The clock of a store on a PostgreSQL server. Before version 3 of the tables, it is always that of the server. */
export class StoreClock {
  #definition;

  /** @param {import('../postgresql/cluster.mjs').PostgresServer} server */
  constructor(server) {
    this.server = server;
  }

  async move(offsetMs) {
    this.#definition ||= await this.server.sql("SELECT pg_get_functiondef(to_regproc('stampgate.server_us'))");
    if (this.#definition === '') return;
    await this.server.sql(
      'CREATE OR REPLACE FUNCTION stampgate.server_us() RETURNS bigint LANGUAGE sql VOLATILE AS' +
        ` 'SELECT (extract(epoch FROM clock_timestamp()) * 1000000 + ${Math.round(offsetMs * 1000)})::bigint'`,
    );
  }

  /** Restores the function, so that the tables can be recorded. */
  async restore() {
    if (this.#definition) await this.server.sql(this.#definition);
  }
}

/** Compresses the files of a folder into another one, without those that a stopped gateway does not need. */
export function pack(from, to) {
  mkdirSync(to, { recursive: true });
  for (const name of readdirSync(from).filter((each) => !/(\.lock|-shm|-wal|-journal)$/.test(each))) {
    writeFileSync(join(to, `${name}.gz`), gzipSync(readFileSync(join(from, name)), { level: 9 }));
  }
}

/** Undoes pack(). */
export function unpack(from, to) {
  mkdirSync(to, { recursive: true });
  for (const name of readdirSync(from)) {
    const file = join(to, basename(name, '.gz'));
    writeFileSync(file, gunzipSync(readFileSync(join(from, name))), { mode: 0o600 });
    chmodSync(file, 0o600);
  }
}

/**
 * The formats of the files in a store of SQLite and of the records of an audit log that come after record `after`: what a
 * release must know to read them.
 */
export function formatsOf({ store, audit, cursors, after = 0 }) {
  const read = (folder, name) => readFileSync(join(folder, name));
  const database = (name) => {
    const bytes = read(store, name);
    return { application_id: bytes.readUInt32BE(68), user_version: bytes.readUInt32BE(60) };
  };
  const names = readdirSync(store)
    .filter((name) => !/(\.lock|-shm|-wal|-journal)$/.test(name))
    .sort();
  const marks = names.filter((name) => !name.endsWith('.db'));
  const kinds = {};
  const formats = new Set();
  for (const name of readdirSync(audit).filter((each) => /^audit\.log(\.[0-9]+(\.[0-9-]+)?)?$/.test(each))) {
    for (const line of read(audit, name).toString().trim().split('\n')) {
      const record = JSON.parse(line);
      if (record.seq <= after) continue;
      kinds[record.kind] = [...new Set([...(kinds[record.kind] ?? []), ...Object.keys(record)])].sort();
      if (record.format !== undefined) formats.add(record.format);
    }
  }
  const cursor = (text) => {
    const bytes = Buffer.from(text, 'base64url');
    return { version: bytes[0], bytes: bytes.length };
  };
  return {
    databases: Object.fromEntries(names.filter((name) => name.endsWith('.db')).map((name) => [name, database(name)])),
    marks: Object.fromEntries(marks.map((name) => [name, read(store, name).subarray(0, 8).toString('latin1')])),
    audit: { formats: [...formats].sort(), kinds },
    cursors: [...new Set(cursors.map((each) => JSON.stringify(cursor(each))))].map((each) => JSON.parse(each)),
  };
}

/** Loads the tables of a recording. */
export async function loadTables(server, release) {
  const input = readFileSync(join(release, 'postgresql.sql'), 'utf8');
  const at = ['--host', server.folder, '--username', 'postgres', '--dbname', 'postgres', '--quiet'];
  const loaded = await run([...at, '--set', 'ON_ERROR_STOP=1', '--single-transaction'], { command: PSQL, input });
  assert.equal(loaded.status, 0, loaded.stderr);
}

/**
 * The tables, columns, functions and rules of a schema of PostgreSQL, the version that gateways compare with theirs, and
 * what the owner has decided.
 */
export async function schemaOf(server) {
  const lines = async (sql) => (await server.sql(sql)).split('\n').filter(Boolean).sort();
  return {
    version: Number(await server.sql('SELECT version FROM stampgate.store')),
    columns: await lines(
      "SELECT table_name, column_name, data_type, is_nullable FROM information_schema.columns WHERE table_schema = 'stampgate'" +
        " AND table_name !~ '^events_[0-9]+$'",
    ),
    functions: await lines(
      "SELECT p.oid::regprocedure::text FROM pg_proc p JOIN pg_namespace n ON n.oid = pronamespace WHERE nspname = 'stampgate'",
    ),
    rules: await lines(
      "SELECT conrelid::regclass || ': ' || pg_get_constraintdef(oid) FROM pg_constraint" +
        " WHERE connamespace = 'stampgate'::regnamespace AND contype = 'c' AND conrelid::regclass::text !~ 'events_[0-9]+$'",
    ),
    decided: JSON.parse(
      await server.sql("SELECT coalesce((SELECT to_jsonb(b) FROM stampgate.bounds b), '{}')").catch(() => '{}'),
    ),
  };
}

/** Checks the audit log with `stampgate audit verify`. Resolves to the report. */
export async function verifyAudit(command, folder, ...more) {
  const { status, stdout, stderr } = await run(
    ['audit', 'verify', '--key', join(folder, 'audit.key'), join(folder, 'audit.log'), ...more],
    { command },
  );
  assert.equal(status, 0, stdout + stderr);
  return stdout;
}

export const headOf = (report) => /^head (.*)$/m.exec(report)[1];
