// Tests the gRPC server: health, upstream's name, and the end of the process.
import assert from 'node:assert/strict';
import { after, describe, test } from 'node:test';
import { code, connect, methods } from '../clients/gateway.mjs';
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

  test('an unknown method ends with UNIMPLEMENTED', async () => {
    const definition = { ...methods.get('PolicyService/GetPolicy'), path: '/stampgate.v1.PolicyService/GetNothing' };
    methods.set('PolicyService/GetNothing', definition);
    const error = await gateway.refusal('PolicyService/GetNothing', {});
    assert.equal(error.code, code.UNIMPLEMENTED);
  });

  test('a compressed message is refused, because gRPC would inflate it before checking its size', async (t) => {
    const client = connect(gateway.address, { 'grpc.default_compression_algorithm': 2 });
    t.after(() => client.close());
    const request = { organization_id: ORGANIZATION, policy_id: identifier(6).repeat(100) };
    const other = Object.assign(Object.create(gateway), { client });
    assert.equal((await other.refusal('PolicyService/GetPolicy', request)).code, code.UNIMPLEMENTED);
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
      const events = gateway.output.trimEnd().split('\n').map((line) => JSON.parse(line).event);
      assert.deepEqual(events, ['started', 'draining', 'stopped']);
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
    for (let status; status !== code.UNAVAILABLE; ) {
      status = await checkHealth(late).then(() => code.OK, (error) => error.code);
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

  test('calls that last longer than calls.drain_grace end with an error that states their outcome', { timeout: HANG_MS }, async (t) => {
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
  });

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
