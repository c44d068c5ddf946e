// Installs the chart on a real node, calls through it, and disrupts it under load. tests/kubernetes/run runs these
// tests on the node. Each test continues where the one before ended.
import assert from 'node:assert/strict';
import { X509Certificate } from 'node:crypto';
import { after, before, describe, test } from 'node:test';
import { Ending } from '../conformance/stacks.mjs';
import { deliver } from '../end_to_end/event_stack.mjs';
import { WEBHOOK_PATH } from '../end_to_end/harness.mjs';
import { until } from '../end_to_end/processes.mjs';
import { presented } from './client.mjs';
import { crash } from './crash.mjs';
import { Disruptions } from './disruptions.mjs';
import { GATEWAY, Installation, SECRET_MS, chart, TAGS, TARGET, putWebhookPaths, ready } from './installation.mjs';
import { apply, applyText, helm, kubectl } from './kubectl.mjs';
import { CALLS, callerPod, callerTemplate } from './pods.mjs';
import { tryPolicies } from './policies.mjs';

const inGateways = '--namespace=stampgate';
const inPayments = '--namespace=payments';

describe('the chart on a node', () => {
  /** @type {Installation} */
  let installation;
  const ending = new Ending();
  before(async () => {
    installation = await Installation.prepare(ending, process.env.STAMPGATE_IMAGES);
  });
  after(() => ending.end());

  test('the chart installs a gateway that is ready under the profile restricted', async () => {
    await installation.install({ tag: TAGS[0] });
    const unsafe = callerPod('stampgate', 'unsafe', ['resolve', 'localhost']);
    delete unsafe.spec.securityContext;
    await assert.rejects(apply(unsafe), /violates PodSecurity "restricted:latest"/);
  });

  test('a job in another namespace calls through the headless service with mTLS', async () => {
    const metadata = { namespace: 'payments', name: 'call' };
    const template = callerTemplate(['call', TARGET], { labels: CALLS, hasCertificate: true });
    await apply({ apiVersion: 'batch/v1', kind: 'Job', metadata, spec: { backoffLimit: 3, template } });
    await kubectl('wait', '--for=condition=complete', 'job/call', inPayments, '--timeout=60s');
    const [userId, first, second] = (await kubectl('logs', 'job/call', inPayments)).trim().split(' ');
    assert.match(userId, /^[0-9a-f-]{36}$/);
    assert.equal(first, second, 'the key did not make the submits one');
    assert.ok(installation.simulator.service.state.activitiesById.has(first));
  });

  test('helm test makes a call', () => helm('test', 'stampgate', inGateways, '--timeout=2m'));

  test('the gateway stores a webhook that comes through its ClusterIP, and takes a new path', async () => {
    const address = '--output=jsonpath={.spec.clusterIP}';
    const clusterIp = await kubectl('get', 'service/stampgate-webhooks', inGateways, address);
    const { webhooks } = installation.simulator;
    webhooks.setEndpoints(null, [`http://${clusterIp}:8080${WEBHOOK_PATH}`]);
    assert.equal((await deliver(installation.simulator)).status, 200);

    const isAccepted = async (path) =>
      (await deliver(installation.simulator, { url: `http://${clusterIp}:8080${path}` })).status === 200;
    const path = '/hooks/another-path-of-random-text';
    assert.ok(!(await isAccepted(path)));
    await putWebhookPaths(WEBHOOK_PATH, path);
    await until(() => isAccepted(path), 'the new webhook path is accepted', SECRET_MS);
    webhooks.setEndpoints(null, []);
  });

  describe('the network policies', { concurrency: true }, () => {
    const metrics = 'stampgate-metrics.stampgate.svc:8081';
    const migration = { 'app.kubernetes.io/name': 'stampgate-migration' };
    const prometheus = { 'app.kubernetes.io/name': 'prometheus' };

    before(async () => {
      // The policy of the migration, which only a chart with PostgreSQL has.
      const values = ['--set=image.repository=node.local/stampgate', '--set=store=postgresql', '--kube-version=1.34.4'];
      const shown = [...values, '--show-only=templates/migration.yaml'];
      const rendered = await helm('template', 'stampgate', chart, inGateways, ...shown);
      const [policy] = rendered.split(/^---$/m).filter((text) => /^kind: NetworkPolicy$/m.test(text));
      await applyText(policy);
    });

    for (const [name, namespace, labels, args, expected] of /** @type {const} */ ([
      ['let a labelled pod of a labelled namespace connect', 'payments', CALLS, ['connect', GATEWAY], /^connected$/],
      ['refuse a pod without the label', 'payments', {}, ['connect', GATEWAY], /refused|timeout/],
      ['refuse a labelled pod of another namespace', 'stranger', CALLS, ['connect', GATEWAY], /refused|timeout/],
      ['refuse a caller at the port of the metrics', 'payments', CALLS, ['connect', metrics], /refused|timeout/],
      ['let Prometheus connect to the metrics', 'monitoring', prometheus, ['connect', metrics], /^connected$/],
      ['let the migration resolve names', 'stampgate', migration, ['resolve', 'upstream.test'], /^resolved$/],
      ['keep the migration from upstream', 'stampgate', migration, ['connect', 'upstream.test:443'], /refused|timeout/],
    ])) {
      test(name, () => tryPolicies(name, namespace, labels, args, expected));
    }
  });

  // This pod is an endpoint of the gateway's services, so no other test may run at the same time.
  test('the network policies keep the gateway from the API server', () => {
    const labels = { 'app.kubernetes.io/name': 'stampgate' };
    return tryPolicies('gateway', 'stampgate', labels, ['connect', 'kubernetes.default.svc:443'], /refused|timeout/);
  });

  describe('under 50 calls a second', () => {
    /** @type {Disruptions} */
    let disruptions;
    before(async () => {
      disruptions = await Disruptions.start(installation);
    });
    after(() => disruptions.end());

    test('a new certificate is used without a failed call', async (t) => {
      const report = await disruptions.disrupt(t, 'new certificate', async () => {
        const { fingerprint256 } = new X509Certificate(await installation.issueCertificate());
        await until(async () => (await presented()) === fingerprint256, 'the new certificate is presented', SECRET_MS);
      });
      assert.deepEqual(report.errors, []);
    });

    test('a rollout restart loses and doubles no submit', (t) =>
      disruptions.disrupt(t, 'rollout restart', async () => {
        await kubectl('rollout', 'restart', 'statefulset/stampgate', inGateways);
        await ready();
      }));

    test('a drain loses and doubles no submit', (t) =>
      disruptions.disrupt(t, 'drain', async () => {
        const selected = '--pod-selector=app.kubernetes.io/name=stampgate';
        await kubectl('drain', 'node-1', selected, '--delete-emptydir-data', '--timeout=120s');
        await kubectl('uncordon', 'node-1');
        await ready();
      }));

    test('kill -9 loses and doubles no submit', (t) => disruptions.disrupt(t, 'kill -9', () => crash('stampgate-0')));

    test('an upgrade to another image loses and doubles no submit', (t) =>
      disruptions.disrupt(t, 'helm upgrade', () => installation.install({ tag: TAGS[1] })));
  });
});
