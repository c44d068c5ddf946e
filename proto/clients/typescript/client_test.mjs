// Tests the package against its own fake gateway.
import assert from 'node:assert/strict';
import dns from 'node:dns';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readFileSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { promisify } from 'node:util';
import { makeAuthority } from '../../../tests/end_to_end/certificates.mjs';
import { importFrom, installPackage } from './installed.mjs';

const ORGANIZATION = '11111111-2222-4333-8444-555555555555';
const UNAVAILABLE = 14;
const UNKNOWN = 2;
const DEADLINE_EXCEEDED = 4;
const RESOURCE_EXHAUSTED = 8;
const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;

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

/** A fake gateway and a connection to it. */
async function start(t, options) {
  const fake = await testing.FakeGateway.start();
  const gateway = client.connect(fake.address, options);
  t.after(() => {
    gateway.close();
    fake.stop();
  });
  return { fake, gateway };
}

const activity = (status, more) => ({ activity: { id: 'a', status: api.ActivityStatus[status], ...more } });
const result = {
  result: { case: 'updateOrganizationNameResult', value: { organizationId: ORGANIZATION, organizationName: 'New' } },
};
const completed = () => activity('COMPLETED', { result });
const renaming = () => api.OrganizationService.method.updateOrganizationName;
const request = () => ({ organizationId: ORGANIZATION, parameters: { organizationName: 'New' } });
const outcomeUnknown = (metadata = { timestamp_ms: '1790000000000', fingerprint: 'sha256:00' }) =>
  testing.errorOf({ code: UNKNOWN, reason: 'OUTCOME_UNKNOWN', metadata });

describe('a call', () => {
  test('returns its response, and sends the user agent', async (t) => {
    const { fake, gateway } = await start(t);
    fake.answer(api.PolicyService.method.getPolicy, { policy: { policyId: 'p', notes: '' } });
    const { policy } = await gateway.client(api.PolicyService).getPolicy({ organizationId: 'o', policyId: 'p' });
    assert.equal(policy.policyId, 'p');
    const [{ metadata }] = fake.received;
    assert.match(metadata.get('user-agent')[0], /^stampgate-typescript\/0\.0\.0 /);
  });

  test('ends with an error that has all details', async (t) => {
    const { fake, gateway } = await start(t);
    const violations = [{ field: 'policy_id', description: 'must be set' }];
    const metadata = { caller: 'payments' };
    const answer = testing.errorOf({
      ...{ code: RESOURCE_EXHAUSTED, message: 'too many', reason: 'TOO_MANY_CALLS', metadata, violations },
      retryDelayMs: 1250,
    });
    fake.answer(api.PolicyService.method.createPolicies, answer);
    await assert.rejects(gateway.client(api.PolicyService).createPolicies({}), (/** @type {any} */ error) => {
      assert.equal(error.name, 'StampgateError');
      const { code, codeName, domain, reason, message, retryDelayMs } = error;
      assert.deepEqual(
        { code, codeName, domain, reason, message, retryDelayMs },
        {
          ...{ code: RESOURCE_EXHAUSTED, codeName: 'RESOURCE_EXHAUSTED', domain: 'stampgate' },
          ...{ reason: 'TOO_MANY_CALLS', message: 'too many', retryDelayMs: 1250 },
        },
      );
      assert.deepEqual({ ...error.metadata }, metadata);
      assert.deepEqual(error.violations, violations);
      return true;
    });
  });

  test('ends at its time limit, and when its signal aborts', async (t) => {
    const { fake, gateway } = await start(t, { timeoutMs: 200 });
    fake.answer(renaming(), testing.NEVER);
    const { updateOrganizationName } = gateway.client(api.OrganizationService);
    await assert.rejects(updateOrganizationName({}), { codeName: 'DEADLINE_EXCEEDED' });
    const stop = new AbortController();
    const call = updateOrganizationName({}, { timeoutMs: 60_000, signal: stop.signal });
    stop.abort();
    await assert.rejects(call, { codeName: 'CANCELLED' });
    await assert.rejects(updateOrganizationName({}, { signal: stop.signal }), { codeName: 'CANCELLED' });
  });

  test('is repeated if it is a query, and not if it is a submit', async (t) => {
    const { fake, gateway } = await start(t);
    const broken = testing.errorOf({ code: UNAVAILABLE });
    fake.answer(api.PolicyService.method.getPolicy, broken, broken, {});
    await gateway.client(api.PolicyService).getPolicy({});
    assert.equal(fake.received.length, 3);
    fake.answer(renaming(), broken, completed());
    await assert.rejects(gateway.client(api.OrganizationService).updateOrganizationName({}), { code: UNAVAILABLE });
    assert.equal(fake.requests(renaming()).length, 1);
  });

  test('with a token needs TLS', () => {
    assert.throws(() => client.connect('127.0.0.1:1', { token: () => 'secret' }), /only over TLS/);
  });
});

describe('a submit', () => {
  test('is repeated with the same key, and returns the result', async (t) => {
    const { fake, gateway } = await start(t);
    const waitABit = testing.errorOf({ code: RESOURCE_EXHAUSTED, reason: 'TOO_MANY_CALLS', retryDelayMs: 10 });
    fake.answer(renaming(), testing.errorOf({ code: UNAVAILABLE }), outcomeUnknown(), waitABit, completed());
    const { case: name, value } = await gateway.submit(renaming(), request());
    assert.equal(name, 'updateOrganizationNameResult');
    assert.equal(value.organizationName, 'New');
    const [key, ...others] = fake.requests(renaming()).map(({ idempotencyKey }) => idempotencyKey);
    assert.match(key, UUID);
    assert.deepEqual(others, [key, key, key]);
  });

  test("keeps the caller's key, the key or timestamp of the request, and the caller's request", async (t) => {
    const { fake, gateway } = await start(t);
    fake.answer(renaming(), completed());
    const own = request();
    await gateway.submit(renaming(), own, { key: 'k' });
    await gateway.submit(renaming(), { ...own, idempotencyKey: 'r' });
    await gateway.submit(renaming(), { ...own, timestampMs: 7n });
    assert.deepEqual(
      fake.requests(renaming()).map(({ idempotencyKey, timestampMs }) => [idempotencyKey, timestampMs]),
      [
        ['k', undefined],
        ['r', undefined],
        [undefined, 7n],
      ],
    );
    assert.deepEqual(own, request());
  });

  test('whose outcome stays unknown carries what to repeat', async (t) => {
    const { fake, gateway } = await start(t);
    fake.answer(renaming(), outcomeUnknown(), testing.errorOf({ code: UNAVAILABLE }));
    const failed = await gateway.submit(renaming(), request(), { timeoutMs: 700 }).catch((error) => error);
    assert.ok(failed instanceof client.OutcomeUnknown && !(failed instanceof client.StampgateError));
    assert.ok(failed.last instanceof client.StampgateError);
    assert.equal(failed.timestampMs, 1790000000000n);
    assert.equal(failed.fingerprint, 'sha256:00');
    assert.match(failed.key, UUID);
    fake.answer(renaming(), completed());
    const { toBinary, fromBinary } = dependency('@bufbuild/protobuf');
    const schema = api.UpdateOrganizationNameRequestSchema;
    await gateway.submit(renaming(), fromBinary(schema, toBinary(schema, failed.request)));
    const [first, last] = [0, -1].map((at) => fake.requests(renaming()).at(at));
    assert.deepEqual(last, first);
    assert.equal(last.idempotencyKey, failed.key);
  });

  test('to a gateway that does not listen ends with an error', async (t) => {
    const { fake, gateway } = await start(t);
    fake.stop();
    await assert.rejects(gateway.submit(renaming(), request(), { timeoutMs: 2_000 }), (/** @type {any} */ error) => {
      assert.deepEqual([error.name, error.codeName], ['StampgateError', 'UNAVAILABLE']);
      assert.match(error.message, /: No connection established\. Last error: .*ECONNREFUSED [^ ]+$/);
      return true;
    });
  });

  test('ends with an error if it gets no connection before the deadline', async (t) => {
    const silent = createServer((socket) => t.after(() => socket.destroy())).listen(0, '127.0.0.1');
    await once(silent, 'listening');
    const gateway = client.connect(`127.0.0.1:${/** @type {any} */ (silent.address()).port}`);
    t.after(() => {
      gateway.close();
      silent.close();
    });
    const submit = gateway.submit(renaming(), request(), { timeoutMs: 300 });
    await assert.rejects(submit, { name: 'StampgateError', codeName: 'DEADLINE_EXCEEDED', message: /[Ww]aiting for/ });
  });

  test('ends with an error if @grpc/grpc-js sent nothing, and otherwise with an unknown outcome', async (t) => {
    const { fake, gateway } = await start(t);
    for (const [code, message, name] of [
      [UNAVAILABLE, 'Name resolution failed for target dns:nowhere:7443', 'StampgateError'],
      [UNAVAILABLE, 'Failed to parse DNS address dns:nowhere:port', 'StampgateError'],
      [UNAVAILABLE, 'No addresses resolved. Resolution note: ', 'StampgateError'],
      [UNKNOWN, 'Getting metadata from plugin failed with error: no such file', 'StampgateError'],
      [DEADLINE_EXCEEDED, 'Deadline exceeded after 0.301s,waiting for name resolution', 'StampgateError'],
      [DEADLINE_EXCEEDED, 'Deadline exceeded after 0.301s,LB pick: 0.1s,remote_addr=127.0.0.1:1', 'OutcomeUnknown'],
      [UNAVAILABLE, 'Connection dropped', 'OutcomeUnknown'],
      [UNAVAILABLE, 'the proxy reports: No connection established', 'OutcomeUnknown'],
      [UNAVAILABLE, 'Connection dropped: read error: SSL alert bad record mac', 'OutcomeUnknown'],
    ]) {
      const answer = testing.errorOf({ code: Number(code), message: String(message) });
      fake.answer(renaming(), answer, testing.errorOf({ code: 3, reason: 'INVALID_REQUEST' }));
      await assert.rejects(gateway.submit(renaming(), request()), { name }, String(message));
    }
  });

  test('that may have been carried out before the gateway stopped listening has an unknown outcome', async (t) => {
    const { fake, gateway } = await start(t);
    fake.answer(renaming(), () => (setImmediate(() => fake.stop()), testing.NEVER));
    await assert.rejects(gateway.submit(renaming(), request(), { timeoutMs: 3_000 }), (/** @type {any} */ error) => {
      assert.equal(error.name, 'OutcomeUnknown');
      assert.match(error.last.message, /No connection established/);
      return true;
    });
  });

  test('is not repeated after an error whose repetition cannot help', async (t) => {
    const { fake, gateway } = await start(t);
    const ends = async (answer) => {
      fake.answer(renaming(), answer);
      const before = fake.received.length;
      const error = await gateway.submit(renaming(), request()).catch((failure) => failure);
      assert.equal(fake.received.length, before + 1);
      return error;
    };
    assert.equal((await ends(testing.errorOf({ code: 3, reason: 'INVALID_REQUEST' }))).name, 'StampgateError');
    const quota = { code: RESOURCE_EXHAUSTED, reason: 'HTTP_429', domain: 'upstream' };
    assert.equal((await ends(testing.errorOf(quota))).name, 'StampgateError');
    const late = { code: DEADLINE_EXCEEDED, reason: 'DEADLINE_TOO_SHORT' };
    assert.equal((await ends(testing.errorOf(late))).name, 'StampgateError');
    const notStored = { code: UNKNOWN, reason: 'OUTCOME_NOT_STORED', retryDelayMs: 1 };
    assert.equal((await ends(testing.errorOf(notStored))).name, 'OutcomeUnknown');
    const tooLarge = { code: 11, reason: 'ANSWER_TOO_LARGE', metadata: { fingerprint: 'sha256:00' } };
    assert.equal((await ends(testing.errorOf(tooLarge))).fingerprint, 'sha256:00');
  });

  test('that an earlier try may have carried out has an unknown outcome, whoever refuses its repetition', async (t) => {
    const { fake, gateway } = await start(t);
    for (const refusal of [
      { code: 7, reason: 'DENIED_BY_POLICY' },
      { code: 7, reason: 'REQUEST_NOT_AUTHORIZED', domain: 'upstream' },
      { code: 5, reason: 'HTTP_404', domain: 'upstream' },
    ]) {
      fake.answer(renaming(), outcomeUnknown(), testing.errorOf(refusal));
      const failed = await gateway.submit(renaming(), request()).catch((error) => error);
      assert.deepEqual([failed.name, failed.last.reason], ['OutcomeUnknown', refusal.reason]);
      assert.equal(failed.fingerprint, 'sha256:00');
    }
  });

  test('whose key cannot be looked up has an unknown outcome only after a try that may have acted', async (t) => {
    const { fake, gateway } = await start(t);
    const noStore = testing.errorOf({ code: UNAVAILABLE, reason: 'IDEMPOTENCY_UNAVAILABLE', retryDelayMs: 1 });
    const submit = () => gateway.submit(renaming(), request(), { timeoutMs: 500 });
    fake.answer(renaming(), noStore);
    await assert.rejects(submit(), { name: 'StampgateError', reason: 'IDEMPOTENCY_UNAVAILABLE' });
    fake.answer(renaming(), testing.errorOf({ code: UNAVAILABLE }), noStore);
    await assert.rejects(submit(), { name: 'OutcomeUnknown' });
  });

  test('whose response is larger than @grpc/grpc-js accepts has an unknown outcome, and is not repeated', async (t) => {
    const { fake, gateway } = await start(t, { channelOptions: { 'grpc.max_receive_message_length': 10 } });
    fake.answer(renaming(), completed());
    const failed = await gateway.submit(renaming(), request()).catch((error) => error);
    assert.deepEqual([failed.name, failed.last.codeName], ['OutcomeUnknown', 'RESOURCE_EXHAUSTED']);
    assert.equal(fake.received.length, 1);
  });

  test('whose error has an ErrorInfo of a proxy has an unknown outcome', async (t) => {
    const { fake, gateway } = await start(t);
    const ofProxy = { code: UNAVAILABLE, reason: 'RESET', domain: /** @type {any} */ ('proxy.example') };
    fake.answer(renaming(), testing.errorOf(ofProxy), testing.errorOf({ code: 3, reason: 'INVALID_REQUEST' }));
    await assert.rejects(gateway.submit(renaming(), request()), { name: 'OutcomeUnknown' });
  });

  test('whose error has details that cannot be decoded has an unknown outcome', async (t) => {
    const { fake, gateway } = await start(t);
    const broken = testing.errorOf({ code: UNAVAILABLE });
    broken.metadata.set('grpc-status-details-bin', Buffer.from('of a proxy'));
    fake.answer(renaming(), broken, testing.errorOf({ code: 3, reason: 'INVALID_REQUEST' }));
    await assert.rejects(gateway.submit(renaming(), request()), { name: 'OutcomeUnknown' });
  });

  test('does not end after three TLS failures that are not in succession', async (t) => {
    const { fake, gateway } = await start(t);
    const tls = testing.errorOf({ code: UNAVAILABLE, message: 'No connection established. Last error: SSL alert' });
    fake.answer(renaming(), tls, testing.errorOf({ code: UNAVAILABLE }), tls, tls, completed());
    await gateway.submit(renaming(), request());
    assert.equal(fake.received.length, 5);
  });

  test('on its stub is not repeated because a TXT record of DNS asks for it', async (t) => {
    const { fake } = await start(t);
    const retryPolicy = { maxAttempts: 2, initialBackoff: '0.01s', maxBackoff: '1s', backoffMultiplier: 1 };
    const methodConfig = [{ name: [{}], retryPolicy: { ...retryPolicy, retryableStatusCodes: ['UNAVAILABLE'] } }];
    const config = JSON.stringify([{ serviceConfig: { methodConfig } }]);
    t.mock.method(dns.promises, 'resolveTxt', async () => [[`grpc_config=${config}`]]);
    const gateway = client.connect(fake.address.replace('127.0.0.1', 'localhost'));
    t.after(() => gateway.close());
    fake.answer(renaming(), testing.errorOf({ code: UNAVAILABLE }));
    await assert.rejects(gateway.client(api.OrganizationService).updateOrganizationName({}), { code: UNAVAILABLE });
    assert.equal(fake.received.length, 1);
  });

  test('that is not completed ends with a typed error', async (t) => {
    const { fake, gateway } = await start(t);
    for (const [status, name] of [
      ['CONSENSUS_NEEDED', 'ActivityPending'],
      ['REJECTED', 'ActivityRejected'],
      ['FAILED', 'ActivityFailed'],
    ]) {
      fake.answer(renaming(), activity(status));
      const failed = await gateway.submit(renaming(), request()).catch((error) => error);
      assert.equal(failed.name, name);
      assert.ok(failed instanceof client[name] && failed instanceof client.ActivityError);
      assert.ok(!(failed instanceof client.StampgateError));
      assert.equal(failed.activity.id, 'a');
    }
  });

  test('that waits is repeated until the activity has ended, or returns it as pending', async (t) => {
    const { fake, gateway } = await start(t);
    fake.answer(renaming(), activity('PENDING'), testing.errorOf({ code: UNAVAILABLE }), completed());
    await gateway.submit(renaming(), request(), { wait: true });
    const sent = fake.requests(renaming());
    assert.ok(sent.every(({ waitUntil }) => waitUntil === api.WaitUntil.FINAL));
    assert.equal(new Set(sent.map(({ idempotencyKey }) => idempotencyKey)).size, 1);
    fake.answer(renaming(), activity('PENDING'), testing.errorOf({ code: UNAVAILABLE }));
    const waiting = gateway.submit(renaming(), request(), { wait: true, timeoutMs: 500 });
    await assert.rejects(waiting, { name: 'ActivityPending' });
  });

  test('whose connection is closed after a try that may have acted has an unknown outcome', async (t) => {
    const { fake, gateway } = await start(t);
    fake.answer(renaming(), () => (setImmediate(() => gateway.close()), outcomeUnknown()));
    await assert.rejects(gateway.submit(renaming(), request(), { key: 'k' }), { name: 'OutcomeUnknown', key: 'k' });
    assert.equal(fake.received.length, 1);
  });

  test('whose request is faulty throws before it is sent', async (t) => {
    const { fake, gateway } = await start(t);
    const faulty = { ...request(), timestampMs: -1n };
    await assert.rejects(gateway.submit(renaming(), faulty), /uint64/);
    assert.equal(fake.received.length, 0);
  });

  test('ends when its signal aborts, with an unknown outcome', async (t) => {
    const { fake, gateway } = await start(t);
    const stop = new AbortController();
    fake.answer(renaming(), () => (setImmediate(() => stop.abort()), testing.NEVER));
    await assert.rejects(gateway.submit(renaming(), request(), { signal: stop.signal }), { name: 'OutcomeUnknown' });
    assert.equal(fake.received.length, 1);
  });
});

describe('a subscription', () => {
  const event = (cursor) => ({ eventId: `event ${cursor}`, cursor });
  const message = (...cursors) => ({ events: cursors.map(event), cursor: cursors.at(-1) });
  const subscription = () => api.EventService.method.subscribe;

  /** Options of a subscription that records the cursors that it saves, and ends after the cursor of `isLast`. */
  function recorded(isLast) {
    const stop = new AbortController();
    const saved = [];
    const save = (at) => {
      saved.push(at);
      if (isLast(at)) stop.abort();
    };
    return { saved, cursor: { load: () => undefined, save }, signal: stop.signal };
  }

  test('resumes after the last event, and saves cursors after the body of the loop', async (t) => {
    const { fake, gateway } = await start(t);
    const cursor = new client.FileCursor(join(folder, 'resumes'));
    const broken = testing.errorOf({ code: UNAVAILABLE });
    const drained = testing.errorOf({
      code: UNAVAILABLE,
      reason: 'SHUTTING_DOWN',
      metadata: { cursor: '4' },
      retryDelayMs: 1,
    });
    fake.answer(subscription(), [message('1', '2'), broken], [message('3'), drained], [message('5'), testing.NEVER]);
    const seen = [];
    for await (const { cursor: at } of gateway.subscribe({}, { cursor })) {
      assert.equal(await cursor.load(), seen.at(-1) === '3' ? '4' : seen.at(-1));
      seen.push(at);
      if (at === '5') break;
    }
    assert.deepEqual(seen, ['1', '2', '3', '5']);
    assert.deepEqual(
      fake.requests(subscription()).map(({ start: { value } }) => value),
      [api.LogEnd.EARLIEST, '2', '4'],
    );
    // The body of the loop for the last event has not ended.
    assert.equal(await cursor.load(), '4');
  });

  test('saves the cursor of a heartbeat', async (t) => {
    const { fake, gateway } = await start(t);
    fake.answer(subscription(), [message('1'), { cursor: '7' }, testing.NEVER]);
    const { saved, ...options } = recorded((at) => at === '7');
    const seen = [];
    for await (const { cursor: at } of gateway.subscribe({}, options)) seen.push(at);
    assert.deepEqual([seen, saved], [['1'], ['1', '7']]);
  });

  test('ends between two events of a message when its signal aborts', async (t) => {
    const { fake, gateway } = await start(t);
    fake.answer(subscription(), [message('1', '2', '3'), testing.NEVER]);
    const { saved, ...options } = recorded((at) => at === '2');
    const seen = [];
    for await (const { cursor: at } of gateway.subscribe({}, options)) seen.push(at);
    assert.deepEqual(
      [seen, saved],
      [
        ['1', '2'],
        ['1', '2'],
      ],
    );
  });

  test('ends with a gap that has the cursor at which to continue', async (t) => {
    const { fake, gateway } = await start(t);
    for (const [reason, metadata, at] of [
      ['EVENTS_TRIMMED', { earliest_cursor: '8' }, '8'],
      ['EVENTS_LOST', { next_cursor: '9' }, '9'],
      ['EVENT_DAMAGED', { next_cursor: '9' }, '9'],
      ['CURSOR_OF_ANOTHER_LOG', {}, undefined],
      ['CURSOR_AHEAD_OF_LOG', {}, undefined],
    ]) {
      fake.answer(subscription(), [testing.errorOf({ code: 11, reason, metadata })]);
      const gap = await gateway
        .subscribe({}, { cursor: '1' })
        .next()
        .catch((error) => error);
      assert.ok(gap instanceof client.Gap);
      assert.deepEqual([gap.reason, gap.cursor], [reason, at]);
    }
  });

  test('ends with every other error', async (t) => {
    const { fake, gateway } = await start(t);
    fake.answer(subscription(), [testing.errorOf({ code: 7, reason: 'DENIED_BY_POLICY' })]);
    await assert.rejects(gateway.subscribe().next(), { reason: 'DENIED_BY_POLICY' });
    assert.equal(fake.received.length, 1);
  });
});

describe('the file of a cursor', () => {
  test('is on the disk before it replaces the old one, and its new name afterwards', async (t) => {
    const cursor = new client.FileCursor(join(folder, 'synced'));
    await cursor.save('old');
    const file = await open(folder);
    const { sync } = Object.getPrototypeOf(file);
    await file.close();
    const synced = [];
    t.mock.method(Object.getPrototypeOf(file), 'sync', async function () {
      const { ino } = await this.stat();
      const name = readdirSync(folder).find((each) => statSync(join(folder, each)).ino === ino);
      synced.push([name, await cursor.load()]);
      await sync.call(this);
    });
    await cursor.save('new');
    assert.deepEqual(synced, [
      ['synced.new', 'old'],
      [undefined, 'new'],
    ]);
  });

  test('keeps the old cursor if the save was interrupted', async () => {
    const cursor = new client.FileCursor(join(folder, 'interrupted'));
    await cursor.save('old');
    writeFileSync(`${cursor.path}.new`, 'ne');
    assert.equal(await cursor.load(), 'old');
    await cursor.save('newer');
    assert.equal(await cursor.load(), 'newer');
    assert.ok(!existsSync(`${cursor.path}.new`));
  });

  test('starts no subscription if it is empty', async (t) => {
    const { gateway } = await start(t);
    const path = join(folder, 'empty');
    writeFileSync(path, '');
    await assert.rejects(gateway.subscribe({}, { cursor: new client.FileCursor(path) }).next(), {
      message: `${path} contains no cursor`,
    });
    assert.equal(readFileSync(path, 'utf8'), '');
  });
});

/** A module that the package uses. */
const dependency = (name) => createRequire(join(folder, 'node_modules/anything.js'))(name);

test('replaced certificates are used for new calls, and end no call in progress', async (t) => {
  const grpc = dependency('@grpc/grpc-js');
  const { create } = dependency('@bufbuild/protobuf');
  const authority = makeAuthority(folder, 'authority');
  const { cert, key } = authority.issue();
  const server = new grpc.Server();
  const seen = [];
  /** @type {any} */
  let stream;
  server.addService(client.serviceDefinition(api.PolicyService), {
    getPolicy(call, done) {
      seen.push(call.getAuthContext().sslPeerCertificate.subjectaltname);
      done(null, create(api.GetPolicyResponseSchema));
    },
  });
  server.addService(client.serviceDefinition(api.EventService), { subscribe: (call) => (stream = call) });
  const trusted = readFileSync(authority.file);
  const tls = grpc.ServerCredentials.createSsl(trusted, [{ private_key: key, cert_chain: cert }], true);
  const port = await promisify(server.bindAsync.bind(server))('127.0.0.1:0', tls);
  t.after(() => server.forceShutdown());
  const files = { ca: authority.file, certificate: join(folder, 'client.pem'), key: join(folder, 'client.key') };
  const certify = (name) => {
    const issued = authority.issue({ name: `DNS:${name}`, usage: 'clientAuth' });
    writeFileSync(files.certificate, issued.cert);
    return () => writeFileSync(files.key, issued.key);
  };
  certify('first')();
  const gateway = client.connect(`127.0.0.1:${port}`, { tls: files });
  t.after(() => gateway.close());
  const call = () => gateway.client(api.PolicyService).getPolicy({});
  const { now } = Date;
  let passed = 0;
  t.mock.method(Date, 'now', () => now() + passed);
  // The connection with the first certificate is closed at once, and not after a minute.
  const { setTimeout } = globalThis;
  t.mock.method(globalThis, 'setTimeout', (run, ms) => setTimeout(run, ms === 60_000 ? 0 : ms));
  await call();
  const events = gateway.client(api.EventService).subscribe({})[Symbol.asyncIterator]();
  const first = events.next();
  await call();
  const writeNewKey = certify('second');
  passed += 1_000;
  await call(); // the new certificate does not fit the old key
  writeNewKey();
  passed += 1_000;
  await call();
  await call();
  assert.deepEqual(seen, ['DNS:first', 'DNS:first', 'DNS:first', 'DNS:second', 'DNS:second']);
  stream.write(create(api.SubscribeResponseSchema, { cursor: '1' }));
  assert.equal((await first).value.cursor, '1');
  await events.return();
});

test('a stub of @grpc/grpc-js uses the same messages', async (t) => {
  const { fake } = await start(t);
  fake.answer(api.PolicyService.method.getPolicy, { policy: { policyId: 'p' } });
  const grpc = dependency('@grpc/grpc-js');
  const Stub = grpc.makeGenericClientConstructor(client.serviceDefinition(api.PolicyService), 'PolicyService');
  const stub = new Stub(fake.address, grpc.credentials.createInsecure());
  t.after(() => stub.close());
  const response = await new Promise((resolve, reject) =>
    stub.getPolicy(
      { $typeName: 'stampgate.v1.GetPolicyRequest', organizationId: 'o', policyId: 'p' },
      (error, value) => (error ? reject(error) : resolve(value)),
    ),
  );
  assert.equal(response.policy.policyId, 'p');
});
