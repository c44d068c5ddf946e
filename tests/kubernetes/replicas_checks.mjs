// Installs the chart with three gateways and PostgreSQL on a real node, and disrupts them under load.
// tests/kubernetes/run runs these tests on a node of their own. Each test continues where the one before ended.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { Ending } from '../conformance/stacks.mjs';
import { ownerText, storeText, yaml } from '../deploy/manifests.mjs';
import { run, scratch } from '../end_to_end/harness.mjs';
import { crash } from './crash.mjs';
import { Database, HOST } from './database.mjs';
import { Disruptions } from './disruptions.mjs';
import { CONFIG, Installation, TAGS, TARGET, ready } from './installation.mjs';
import { apply, kubectl, outputOf, putSecret } from './kubectl.mjs';
import { CALLS, callerPod } from './pods.mjs';
import { tryPolicies } from './policies.mjs';

const GATEWAYS = ['stampgate-0', 'stampgate-1', 'stampgate-2'];
const inGateways = '--namespace=stampgate';

/** Waits until each gateway has been ready for so long that the chart lets an update replace the next one. */
const available = () => {
  const all = `--for=jsonpath={.status.availableReplicas}=${GATEWAYS.length}`;
  return kubectl('wait', 'statefulset/stampgate', inGateways, all, '--timeout=120s');
};

/**
 * Drains the node of one gateway after another. Waits until the gateway is ready again, and for `between` before the
 * next drain.
 * @param {() => Promise<any>} between
 */
async function drain(between = async () => {}) {
  for (const [index, pod] of GATEWAYS.entries()) {
    if (index > 0) await between();
    const selected = `--pod-selector=statefulset.kubernetes.io/pod-name=${pod}`;
    await kubectl('drain', 'node-1', selected, '--delete-emptydir-data', '--timeout=120s');
    await kubectl('uncordon', 'node-1');
    await kubectl('wait', `pod/${pod}`, inGateways, '--for=create', '--timeout=60s');
    await kubectl('wait', `pod/${pod}`, inGateways, '--for=condition=Ready', '--timeout=120s');
  }
}

/** The config with the store that the page of the deployment shows. */
const withStore = (text) => ({ ...CONFIG, ...yaml.parse(text) });

/** Creates the secrets that several gateways have beside those of one. */
async function putSecrets(t, database) {
  const key = join(scratch(t), 'store.key');
  assert.equal((await run(['store', 'keygen', '--out', key])).status, 0);
  const { gateway, owner } = database.secrets;
  await putSecret('stampgate', 'stampgate-store', { 'store.key': readFileSync(key) });
  await putSecret('stampgate', 'stampgate-database', gateway);
  const config = JSON.stringify(withStore(ownerText));
  await putSecret('stampgate', 'stampgate-owner', { ...owner, 'owner.yaml': config });
}

describe('the chart with three gateways on a node', () => {
  /** @type {Database} */
  let database;
  /** @type {Installation} */
  let installation;
  const ending = new Ending();
  before(async () => {
    const images = process.env.STAMPGATE_IMAGES;
    const values = { store: 'postgresql', replicas: GATEWAYS.length, config: withStore(storeText) };
    installation = await Installation.prepare(ending, images, values);
    database = await Database.start(ending, images);
    await putSecrets(ending, database);
  });
  after(() => ending.end());

  test('the chart migrates the database, and installs three gateways that are ready', async () => {
    await installation.install({ tag: TAGS[0] });
    const get = (object, field) => kubectl('get', object, inGateways, `--output=jsonpath={.status.${field}}`);
    assert.equal(await get('job/stampgate-migration', 'succeeded'), '1');
    assert.equal(await get('statefulset/stampgate', 'readyReplicas'), String(GATEWAYS.length));
  });

  test('a key makes two submits one, whichever gateways get them', async () => {
    await apply(callerPod('payments', 'call', ['call', TARGET], { labels: CALLS, hasCertificate: true }));
    const [, first, second] = (await outputOf('payments', 'call')).split(' ');
    assert.equal(first, second);
    assert.ok(installation.simulator.service.state.activitiesById.has(first));
  });

  describe('the network policies', { concurrency: true }, () => {
    const migration = { 'app.kubernetes.io/name': 'stampgate-migration' };
    for (const [name, namespace, labels, args, expected] of /** @type {const} */ ([
      ['let the migration connect to the database', 'stampgate', migration, ['connect', `${HOST}:5432`], /^connected$/],
      ['keep the migration from upstream', 'stampgate', migration, ['connect', 'upstream.test:443'], /refused|timeout/],
      ['keep other pods from the database', 'stampgate', {}, ['connect', `${HOST}:5432`], /refused|timeout/],
    ])) {
      test(name, () => tryPolicies(name, namespace, labels, args, expected));
    }
  });

  describe('under 50 calls a second', () => {
    /** @type {Disruptions} */
    let disruptions;
    before(async () => {
      disruptions = await Disruptions.start(installation);
    });
    after(() => disruptions.end());

    /** Disrupts the gateways, and fails if a call fails. */
    async function disrupt(t, name, disruption) {
      const { errors } = await disruptions.disrupt(t, name, disruption);
      assert.deepEqual(errors, []);
    }

    test('a rollout restart fails no call', (t) =>
      disrupt(t, 'rollout restart', async () => {
        await kubectl('rollout', 'restart', 'statefulset/stampgate', inGateways);
        await ready();
      }));

    test('a drain that waits until all gateways are available fails no call', (t) =>
      disrupt(t, 'drain, with waits', () => drain(available)));

    test('kill -9 of a gateway fails no call', (t) => disrupt(t, 'kill -9', () => crash(GATEWAYS[0])));

    test('an upgrade to another image fails no call', (t) =>
      disrupt(t, 'helm upgrade', () => installation.install({ tag: TAGS[1] })));

    test('a drain that waits only until each gateway is ready loses and doubles no submit', (t) =>
      disruptions.disrupt(t, 'drain, without waits', () => drain()));

    test('a failover of the database loses and doubles no submit', (t) =>
      disruptions.disrupt(t, 'failover of the database', () => database.failOver()));
  });
});
