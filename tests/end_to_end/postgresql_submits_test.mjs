// Several gateways share idempotency keys and timestamps on one PostgreSQL server.
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { test } from 'node:test';
import { code } from '../clients/gateway.mjs';
import { PostgresServer } from '../postgresql/cluster.mjs';
import { ORGANIZATION } from '../simulator/testing.mjs';
import { statusOf } from './admin_port.mjs';
import { QUERY } from './failures.mjs';
import { HANG_MS, WITHOUT_RETRIES } from './harness.mjs';
import { until } from './processes.mjs';
import { SharedLogStack } from './shared_log_stack.mjs';

const TIMEOUT = { timeout: 2 * HANG_MS };
const METHOD = 'OrganizationService/UpdateOrganizationName';

const requestOf = (more = {}) => ({ organization_id: ORGANIZATION, parameters: { organization_name: 'New' }, ...more });

/** Starts a server, and three gateways that use it. */
async function start(t) {
  const postgres = await PostgresServer.create(t);
  const store = { hosts: [postgres.host], allow_single_server: true };
  const stack = await SharedLogStack.prepare(t, store, { config: { admission: WITHOUT_RETRIES } });
  const gateways = [await stack.start(), await stack.start(), await stack.start()];
  return { postgres, stack, gateways };
}

/** The bodies of the submits that upstream has received. */
const bodiesOf = ({ simulator }) =>
  simulator
    .requests()
    .filter(({ path }) => path.includes('/submit/'))
    .map(({ body }) => body);

test('an idempotency key holds at every gateway', TIMEOUT, async (t) => {
  const { stack, gateways } = await start(t);
  for (let round = 0; round < 20; round += 1) {
    stack.simulator.clearRequests();
    const parameters = { organization_name: `Name ${round}` };
    const request = requestOf({ idempotency_key: randomUUID(), parameters });
    const calls = await Promise.all(
      [...gateways, ...gateways, ...gateways].map((gateway) => gateway.call(METHOD, request)),
    );
    assert.equal(new Set(calls.map(({ activity }) => activity.id)).size, 1);
    assert.equal(new Set(bodiesOf(stack)).size, 1, 'all gateways send the same bytes');
    const other = requestOf({ idempotency_key: request.idempotency_key, parameters: { organization_name: 'Other' } });
    for (const gateway of gateways) {
      const error = await gateway.refusal(METHOD, other);
      assert.equal(error.info.reason, 'IDEMPOTENCY_KEY_REUSED');
    }
  }
});

test('a gateway that takes over after a kill repeats the same bytes', TIMEOUT, async (t) => {
  const { stack, gateways } = await start(t);
  const [first, second] = gateways;
  stack.simulator.addFaults([{ kind: 'readAndClose' }]);
  const request = requestOf({ idempotency_key: randomUUID() });
  const error = await first.refusal(METHOD, request);
  assert.equal(error.info.reason, 'OUTCOME_UNKNOWN');
  await stack.kill(first);
  const { activity } = await second.call(METHOD, request);
  assert.equal(activity.status, 'ACTIVITY_STATUS_COMPLETED');
  assert.equal(new Set(bodiesOf(stack)).size, 1);
});

test('equal submits at several gateways get different timestamps', TIMEOUT, async (t) => {
  const { stack, gateways } = await start(t);
  const calls = [];
  for (let i = 0; i < 10; i += 1) for (const gateway of gateways) calls.push(gateway.call(METHOD, requestOf()));
  const ids = (await Promise.all(calls)).map(({ activity }) => activity.id);
  assert.equal(new Set(ids).size, calls.length);
  const timestamps = bodiesOf(stack).map((body) => JSON.parse(body).timestampMs);
  assert.equal(new Set(timestamps).size, calls.length);
  const indexes = new Set(timestamps.map((timestamp) => Number(timestamp) % 64));
  assert.equal(indexes.size, gateways.length, 'each gateway has an index of its own');
});

test('while the server is away, queries and submits without a key go on', TIMEOUT, async (t) => {
  const { postgres, stack, gateways } = await start(t);
  const [gateway] = gateways;
  await postgres.stop();
  const keyed = requestOf({ idempotency_key: randomUUID() });
  const error = await gateway.refusal(METHOD, keyed);
  assert.deepEqual([error.code, error.info.reason], [code.UNAVAILABLE, 'IDEMPOTENCY_UNAVAILABLE']);
  assert.ok(error.retryInfo !== undefined);
  assert.deepEqual(bodiesOf(stack), []);
  await gateway.call(QUERY.method, QUERY.request);
  await gateway.call(METHOD, requestOf());
  assert.equal(await statusOf(gateway.adminUrl, '/readyz'), 200);
  await postgres.start();
  await until(
    () =>
      gateway.call(METHOD, keyed).then(
        () => true,
        () => false,
      ),
    'the key is accepted again',
  );
});
