// Calls the gateway through an Envoy beside the caller, as in a service mesh. tests/kubernetes/run runs these tests on a
// node of their own. Each test continues where the one before ended.
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { Ending } from '../conformance/stacks.mjs';
import { deliver } from '../end_to_end/event_stack.mjs';
import { WEBHOOK_PATH } from '../end_to_end/harness.mjs';
import { until } from '../end_to_end/processes.mjs';
import { crash } from './crash.mjs';
import { Disruptions } from './disruptions.mjs';
import { LISTENER, makeSidecar, routeOf } from './envoy.mjs';
import { Installation, TAGS } from './installation.mjs';
import { apply, ctr, kubectl, outputOf } from './kubectl.mjs';
import { CALLS, callerPod } from './pods.mjs';

const inGateways = '--namespace=stampgate';
const inPayments = '--namespace=payments';

describe('an Envoy beside the caller', () => {
  /** @type {Installation} */
  let installation;
  let sidecar;
  const ending = new Ending();
  const podOf = (name, args, envoy) =>
    callerPod('payments', name, args, { labels: CALLS, hasCertificate: true, sidecar: envoy });

  before(async () => {
    const images = process.env.STAMPGATE_IMAGES;
    await ctr('images', 'import', join(images, 'envoy.tar'));
    installation = await Installation.prepare(ending, images);
    await installation.install();
    sidecar = await makeSidecar('envoy');
    const address = '--output=jsonpath={.spec.clusterIP}';
    const clusterIp = await kubectl('get', 'service/stampgate-webhooks', inGateways, address);
    installation.simulator.webhooks.setEndpoints(null, [`http://${clusterIp}:8080${WEBHOOK_PATH}`]);
  });
  after(() => ending.end());

  test('a caller without TLS makes a query, and a key makes its two submits one', async () => {
    await apply(podOf('call', ['call', LISTENER], sidecar));
    const [userId, first, second] = (await outputOf('payments', 'call')).split(' ');
    assert.match(userId, /^[0-9a-f-]{36}$/);
    assert.equal(first, second);
    assert.ok(installation.simulator.service.state.activitiesById.has(first));
  });

  test('a subscription outlives the limit that Envoy has by default, which ends one', async () => {
    const limited = await makeSidecar('envoy-limited', (config) => {
      delete routeOf(config).timeout;
      delete routeOf(config).max_stream_duration;
    });
    await apply(podOf('open', ['subscribe', LISTENER], sidecar), podOf('limited', ['subscribe', LISTENER], limited));
    const logOf = (name) =>
      kubectl('logs', name, '--container=caller', inPayments).then(
        (text) => text.trim().split('\n'),
        () => [],
      );
    for (const name of ['open', 'limited']) {
      await until(async () => (await logOf(name))[0] === 'subscribed', 'the caller is subscribed');
    }
    assert.match(await outputOf('payments', 'limited'), /^subscribed\nInternal: .*RST_STREAM/);
    const { eventId } = await deliver(installation.simulator);
    await until(async () => (await logOf('open')).includes(eventId), 'the subscriber has the event');
    assert.deepEqual(await logOf('open'), ['subscribed', eventId]);
    await kubectl('delete', 'pod/open', inPayments);
  });

  describe('under 50 calls a second', () => {
    /** @type {Disruptions} */
    let disruptions;
    before(async () => {
      disruptions = await Disruptions.start(installation, { target: LISTENER, sidecar });
    });
    after(() => disruptions.end());

    test('kill -9 loses and doubles no submit', (t) =>
      disruptions.disrupt(t, 'kill -9, Envoy beside the caller', () => crash('stampgate-0')));

    test('an upgrade to another image loses and doubles no submit', (t) =>
      disruptions.disrupt(t, 'helm upgrade, Envoy beside the caller', () => installation.install({ tag: TAGS[1] })));
  });
});
