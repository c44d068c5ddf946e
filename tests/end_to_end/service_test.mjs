// Tests the gRPC server: health, calls without exactly one message, upstream's name, and the end of the process.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import http2 from 'node:http2';
import { after, describe, test } from 'node:test';
import { code, connect, encode, methods } from '../clients/gateway.mjs';
import { checkHealth, watchHealth } from '../clients/standard_services.mjs';
import { ORGANIZATION, identifier } from '../simulator/testing.mjs';
import { failureOf } from './failures.mjs';
import { HANG_MS, startStack } from './harness.mjs';

const SERVICES = [...new Set([...methods.keys()].map((name) => `stampgate.v1.${name.split('/')[0]}`))].sort();

describe('health', async () => {
  const { gateway } = await startStack({ after });

  test('the server and each service are SERVING', async () => {
    for (const service of ['', ...SERVICES]) {
      assert.equal(await checkHealth(gateway.client, service), 'SERVING', service);
    }
  });

  test('health returns NOT_FOUND for an unknown service', async () => {
    await assert.rejects(checkHealth(gateway.client, 'stampgate.v1.Nothing'), { code: code.NOT_FOUND });
  });

  test('a compressed message is refused, because gRPC would inflate it before checking its size', async (t) => {
    const client = connect(gateway.address, { 'grpc.default_compression_algorithm': 2 });
    t.after(() => client.close());
    const request = { organization_id: ORGANIZATION, policy_id: identifier(6).repeat(100) };
    const other = Object.assign(Object.create(gateway), { client });
    assert.equal((await other.refusal('PolicyService/GetPolicy', request)).code, code.UNIMPLEMENTED);
  });
});

describe('a call that does not send exactly one message', async () => {
  const { gateway, simulator } = await startStack({ after });
  const session = http2.connect(`http://${gateway.address}`);
  session.on('error', () => {});
  after(() => session.destroy());

  const QUERY = 'PolicyService/GetPolicy';
  const message = encode(QUERY, { organization_id: ORGANIZATION, policy_id: identifier(6) });
  const head = Buffer.alloc(5);
  head.writeUInt32BE(message.length, 1);
  const framed = Buffer.concat([head, message]);

  /** Starts a call. `ended` resolves to the last header fields that the call gets, or to {} if it gets none. */
  function start(method = QUERY, fields = {}) {
    const stream = session.request({
      ':method': 'POST',
      ':path': `/stampgate.v1.${method}`,
      'content-type': 'application/grpc',
      te: 'trailers',
      ...fields,
    });
    stream.on('error', () => {});
    stream.resume();
    let last = {};
    stream.on('response', (headers) => (last = headers));
    stream.on('trailers', (trailers) => (last = trailers));
    return { stream, ended: once(stream, 'close').then(() => last) };
  }

  async function outcomeOf(bytes, method) {
    const { stream, ended } = start(method);
    stream.end(bytes);
    return ended;
  }

  for (const [title, bytes] of Object.entries({
    'no message': Buffer.alloc(0),
    'a part of a head': framed.subarray(0, 3),
    'a part of a message': framed.subarray(0, -1),
  })) {
    test(`${title} is an invalid request`, async () => {
      for (const method of [QUERY, 'StampService/Prepare']) {
        const outcome = await outcomeOf(bytes, method);
        assert.equal(outcome['grpc-status'], String(code.INVALID_ARGUMENT));
        assert.match(outcome['x-request-id'], /^[0-9a-f]{32}$/);
      }
    });
  }

  test('a second message is ignored', async () => {
    const before = simulator.stats().requests;
    const [one, two] = [await outcomeOf(framed), await outcomeOf(Buffer.concat([framed, framed]))];
    assert.equal(two['grpc-status'], one['grpc-status']);
    assert.equal(simulator.stats().requests, before + 2);
  });

  test('the gateway responds before the client ends its request', async () => {
    const { stream, ended } = start();
    stream.write(framed);
    assert.equal((await ended)['grpc-status'], (await outcomeOf(framed))['grpc-status']);
  });

  test('a call whose deadline passes before its message ends with DEADLINE_EXCEEDED', async () => {
    const { ended } = start(QUERY, { 'grpc-timeout': '50m' });
    assert.equal((await ended)['grpc-status'], String(code.DEADLINE_EXCEEDED));
  });

  test('an unknown method ends with UNIMPLEMENTED before its message', async () => {
    for (const method of [
      'PolicyService/GetNothing',
      'EventService/GetNothing',
      'StampService/Nothing',
      'Nothing/Get',
    ]) {
      const outcome = await start(method).ended;
      assert.equal(outcome['grpc-status'], String(code.UNIMPLEMENTED), method);
      assert.equal(outcome['x-request-id'], undefined);
    }
  });

  test('calls that wait for their messages do not delay the end of the process', async (t) => {
    const { gateway: other } = await startStack(t);
    const waiting = http2.connect(`http://${other.address}`);
    waiting.on('error', () => {});
    const fields = { ':method': 'POST', 'content-type': 'application/grpc', te: 'trailers' };
    const streams = Array.from({ length: 10 }, () =>
      waiting.request({ ...fields, ':path': `/stampgate.v1.${QUERY}` }).on('error', () => {}),
    );
    const closed = Promise.all(streams.map((stream) => once(stream, 'close')));
    streams[0].close(http2.constants.NGHTTP2_CANCEL);
    // When this call has ended, the gateway has received the others.
    const last = waiting
      .request({ ...fields, ':path': '/stampgate.v1.Nothing/Get' })
      .resume()
      .end();
    await once(last, 'close');
    assert.deepEqual(await other.stop('SIGTERM'), { status: 0, signal: null });
    await closed;
  });
});

describe("upstream's name", () => {
  test('is part of names in the key set', async (t) => {
    const { gateway } = await startStack(t, {
      simulator: { operator: 'example' },
      config: { operator_name: 'Example' },
    });
    const { keys, unrecognized } = await gateway.call('WebhookService/GetWebhookKeySet', {});
    assert.equal(keys[0].signature_algorithm, 'ed25519');
    assert.equal(keys[0].signature_version, 'v1');
    assert.equal(unrecognized, undefined);
  });

  test('if the configured name is wrong, the gateway still returns the keys', async (t) => {
    const { gateway } = await startStack(t, { simulator: { operator: 'other' } });
    const { keys, unrecognized } = await gateway.call('WebhookService/GetWebhookKeySet', {});
    assert.equal(keys[0].signature_algorithm, undefined);
    assert.deepEqual(unrecognized, {
      '/keys/0/other_signature_algorithm': '"ed25519"',
      '/keys/0/other_signature_version': '"v1"',
    });
  });
});

describe('the end of the process', () => {
  const rename = (gateway, organization_name) =>
    gateway.call('OrganizationService/UpdateOrganizationName', {
      organization_id: ORGANIZATION,
      parameters: { organization_name },
    });

  for (const signal of ['SIGTERM', 'SIGINT']) {
    test(`an idle gateway ends after ${signal}`, async (t) => {
      const { gateway } = await startStack(t);
      await rename(gateway, 'n');
      assert.deepEqual(await gateway.stop(signal), { status: 0, signal: null });
      const events = gateway.output
        .trimEnd()
        .split('\n')
        .map((line) => JSON.parse(line).event);
      assert.deepEqual(events, ['config_warnings', 'started', 'draining', 'stopped']);
    });
  }

  test('calls in flight finish, new ones are refused, and the exit status is 0', { timeout: HANG_MS }, async (t) => {
    const { simulator, gateway } = await startStack(t);
    simulator.addFaults([{ kind: 'slow', untilReleased: true, times: 2 }]);
    const query = { organization_id: ORGANIZATION, policy_id: identifier(6) };
    const held = [rename(gateway, 'held'), gateway.call('PolicyService/GetPolicy', query)];
    await simulator.waitFor({ held: 2 });

    gateway.child.kill('SIGTERM');
    const late = connect(gateway.address);
    t.after(() => late.close());
    // A connection that the gateway still accepts has no call in flight, so the gateway closes it.
    for (let status; status !== code.UNAVAILABLE;) {
      status = await checkHealth(late).then(
        () => code.OK,
        (error) => error.code,
      );
      assert.ok([code.OK, code.UNAVAILABLE].includes(status), String(status));
    }
    // The connection of the calls in flight stays.
    assert.equal(await checkHealth(gateway.client), 'NOT_SERVING');
    for (const method of ['PolicyService/GetPolicy', 'StampService/Prepare', 'EventService/ListEvents']) {
      const refused = await failureOf(gateway, { method, request: {} });
      assert.deepEqual([refused.code, refused.domain, refused.reason], ['UNAVAILABLE', 'stampgate', 'SHUTTING_DOWN']);
      assert.ok(refused.retryMs >= 100 && refused.retryMs <= 3000, `${refused.retryMs} ms`);
    }
    assert.equal(simulator.stats().requests, 2);

    simulator.release();
    const [{ activity }, { policy }] = await Promise.all(held);
    assert.equal(activity.status, 'ACTIVITY_STATUS_COMPLETED');
    assert.equal(policy.policy_id, identifier(6));
    assert.deepEqual(await gateway.exited, { status: 0, signal: null });
  });

  test(
    'calls that last longer than calls.drain_grace end with an error that states their outcome',
    { timeout: HANG_MS },
    async (t) => {
      const { simulator, gateway } = await startStack(t, { config: { calls: { drain_grace: '2s' } } });
      simulator.addFaults([{ kind: 'slow', untilReleased: true, times: 2 }]);
      const query = { organization_id: ORGANIZATION, policy_id: identifier(6) };
      const held = [
        gateway.refusal('OrganizationService/UpdateOrganizationName', {
          organization_id: ORGANIZATION,
          parameters: { organization_name: 'held' },
        }),
        gateway.refusal('PolicyService/GetPolicy', query),
      ];
      await simulator.waitFor({ held: 2 });
      gateway.child.kill('SIGTERM');
      const [submit, read] = await Promise.all(held);
      // After UNAVAILABLE a client would repeat the submit, which could then be carried out twice.
      assert.deepEqual([submit.code, submit.info.reason], [code.UNKNOWN, 'OUTCOME_UNKNOWN']);
      assert.ok(submit.info.metadata.timestamp_ms);
      assert.deepEqual([read.code, read.info.reason], [code.UNAVAILABLE, 'SHUTTING_DOWN']);
      assert.deepEqual(await gateway.exited, { status: 0, signal: null });
    },
  );

  // Ten seconds are less than calls.drain_grace: the gateway does not wait that long for a watcher.
  test('a client that watches health gets NOT_SERVING, and does not delay the end', { timeout: 10_000 }, async (t) => {
    const { gateway } = await startStack(t);
    const watch = watchHealth(gateway.client, SERVICES[0]);
    const statuses = [];
    await new Promise((resolve) => {
      watch.on('error', () => {});
      watch.on('data', ({ status }) => {
        statuses.push(status);
        if (statuses.length === 1) gateway.child.kill('SIGTERM');
        else resolve();
      });
    });
    assert.deepEqual(statuses, ['SERVING', 'NOT_SERVING']);
    assert.equal((await gateway.exited).status, 0);
  });

  test('a gateway that never received a call ends too', async (t) => {
    const { simulator, gateway } = await startStack(t);
    assert.equal((await gateway.stop()).status, 0);
    assert.equal(simulator.stats().connections, 0);
  });
});
