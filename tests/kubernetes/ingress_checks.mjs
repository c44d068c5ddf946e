// Sends webhooks through an ingress controller, with the chart's Ingress. tests/kubernetes/run runs these tests on a node
// of their own. Each test continues where the one before ended.
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { after, before, describe, test } from 'node:test';
import { Ending } from '../conformance/stacks.mjs';
import { deliver } from '../end_to_end/event_stack.mjs';
import { WEBHOOK_PATH } from '../end_to_end/harness.mjs';
import { until } from '../end_to_end/processes.mjs';
import { idsOf, listAll } from '../end_to_end/subscriber.mjs';
import { connectTo } from './client.mjs';
import { deliverDuring } from './deliveries.mjs';
import { CLASS, GATEWAY, PEER, startIngress } from './ingress.mjs';
import { Installation, ready } from './installation.mjs';
import { kubectl, putSecret } from './kubectl.mjs';
import { tryPolicies } from './policies.mjs';

const inGateways = '--namespace=stampgate';
const HOST = 'hooks.test';
/** The largest body that upstream sends. */
const LARGEST = 4 * 1024 * 1024;

/** An event with a body of this size. */
const eventOf = (bytes) => ({ body: `{"filling":"${'x'.repeat(bytes - '{"filling":""}'.length)}"}` });

describe('webhooks through an ingress controller', () => {
  /** @type {Installation} */
  let installation;
  let webhooks;
  const ending = new Ending();
  /** The values with which the ingress reaches the gateway. */
  const routed = { ingress: { className: CLASS, hostnames: [HOST] }, networkPolicies: { webhooks: [PEER] } };

  /** The events in the gateway's log. */
  async function events() {
    const client = await connectTo(installation);
    const all = await listAll(client);
    client.close();
    return all;
  }

  before(async () => {
    const images = process.env.STAMPGATE_IMAGES;
    installation = await Installation.prepare(ending, images);
    const certificate = installation.issue({ name: `DNS:${HOST}` });
    await startIngress(ending, images, HOST, certificate);
    await putSecret('stampgate', 'stampgate-webhooks-tls', certificate, 'kubernetes.io/tls');
    ({ webhooks } = installation.simulator);
    webhooks.setEndpoints(null, [`https://${HOST}${WEBHOOK_PATH}`]);
  });
  after(() => ending.end());

  test('a delivery that a network policy blocks is repeated until the policy allows it', async () => {
    await installation.install({ ingress: routed.ingress });
    const delivery = deliver(installation.simulator);
    const isBlocked = () => webhooks.deliveries()[0]?.attempts.some(({ status }) => status === 503);
    await until(isBlocked, 'the ingress reaches no gateway');
    await installation.install(routed);
    const { status, eventId } = await delivery;
    assert.equal(status, 200);
    assert.deepEqual(idsOf(await events()), [eventId]);
  });

  test('the gateway stores a body of 4 MiB as it came, and the ingress forwards the refusal of a longer one', async () => {
    const event = eventOf(LARGEST);
    const { status, eventId } = await deliver(installation.simulator, event);
    assert.equal(status, 200);
    const stored = (await events()).find(({ event_id }) => event_id === eventId);
    assert.equal(stored.body_sha256.toString('hex'), createHash('sha256').update(event.body).digest('hex'));
    assert.equal((await deliver(installation.simulator, eventOf(LARGEST + 1))).status, 413);
  });

  test('no delivery is lost while the gateway restarts', async () => {
    const before = await events();
    const results = await deliverDuring(installation.simulator, async () => {
      await kubectl('rollout', 'restart', 'statefulset/stampgate', inGateways);
      await ready();
    });
    assert.ok(
      results.some(({ attempts }) => attempts[0].status === 503),
      'the ingress has answered for the gateway',
    );
    assert.deepEqual(new Set(results.map(({ status }) => status)), new Set([200]));
    const added = idsOf(await events()).slice(before.length);
    assert.deepEqual(added.sort(), results.map(({ eventId }) => eventId).sort());
  });

  describe('the network policies', { concurrency: true }, () => {
    const args = ['connect', 'stampgate-webhooks.stampgate.svc:8080'];
    for (const [name, namespace, labels] of /** @type {const} */ ([
      ['refuse other pods in the namespace of the ingress', 'projectcontour', { app: 'other' }],
      ['refuse pods with its labels in another namespace', 'stranger', { app: 'envoy' }],
    ])) {
      test(name, () => tryPolicies(name, namespace, labels, args, /refused|timeout/));
    }
  });

  test('an HTTPRoute does what the Ingress does', async () => {
    const httpRoute = { parentRefs: [GATEWAY], hostnames: [HOST] };
    await installation.install({ httpRoute, networkPolicies: routed.networkPolicies });
    assert.equal(await kubectl('get', 'ingress', inGateways, '--output=name'), '');
    assert.equal((await deliver(installation.simulator, eventOf(LARGEST))).status, 200);
  });
});
