// Upgrades the gateway of the release before to that of this tree under load, as the page of the deployment describes it.
// tests/kubernetes/run runs these tests on a node of their own. Each test continues where the one before ended.
import assert from 'node:assert/strict';
import { cpSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { Ending } from '../conformance/stacks.mjs';
import { kustomizations, folder as manifests } from '../deploy/manifests.mjs';
import { deliver } from '../end_to_end/event_stack.mjs';
import { WEBHOOK_PATH, scratch } from '../end_to_end/harness.mjs';
import { idsOf, listAll } from '../end_to_end/subscriber.mjs';
import { ORGANIZATION } from '../simulator/testing.mjs';
import { connectTo } from './client.mjs';
import { deliverDuring } from './deliveries.mjs';
import { Disruptions } from './disruptions.mjs';
import { CONFIG, Installation, TAGS, VALUES, ready } from './installation.mjs';
import { ctr, kubectl } from './kubectl.mjs';

const RELEASE = '0.2.0';
const inGateways = '--namespace=stampgate';

/** With the newest day that the release knows. */
const config = { ...CONFIG, class_grants_as_of: '2026-09-22' };
/** The release knows no `paths_file`. */
const { paths_file, ...webhooks } = CONFIG.webhooks;
const configOfRelease = { ...config, webhooks: { ...webhooks, paths: [WEBHOOK_PATH] } };

/** What the operator changes in the objects of the base, beside the image and the config. */
const PATCHES = [
  {
    target: { kind: 'StatefulSet', name: 'stampgate' },
    patch: JSON.stringify([
      { op: 'add', path: '/spec/template/spec/volumes/-', value: VALUES.extraVolumes[0] },
      { op: 'add', path: '/spec/template/spec/containers/0/volumeMounts/-', value: VALUES.extraVolumeMounts[0] },
    ]),
  },
  {
    target: { kind: 'NetworkPolicy', name: 'upstream' },
    patch: JSON.stringify([{ op: 'replace', path: '/spec/egress/0/to', value: VALUES.networkPolicies.upstream }]),
  },
];

/**
 * Applies the operator's copy of the example with this image, these further resources, and these fields of the
 * kustomization. Waits for the gateway.
 */
async function applyCopy(folder, tag, resources, fields = {}) {
  const kustomization = {
    kind: 'Kustomization',
    resources: ['../base', 'config.yaml', 'organizations.yaml', ...resources],
    images: [{ name: 'stampgate', newName: VALUES.image.repository, newTag: tag }],
    patches: PATCHES,
    ...fields,
  };
  writeFileSync(join(folder, 'example/kustomization.yaml'), JSON.stringify(kustomization));
  await kubectl('apply', '--kustomize', join(folder, 'example'));
  await ready();
}

/** A submit whose outcome the release stores. */
const SUBMIT = {
  organization_id: ORGANIZATION,
  idempotency_key: 'before-the-upgrade',
  parameters: { policies: [{ policy_name: 'before the upgrade', effect: 'EFFECT_ALLOW', notes: '' }] },
};

describe(`after an upgrade from ${RELEASE}`, () => {
  /** @type {Installation} */
  let installation;
  /** @type {Disruptions} */
  let disruptions;
  /** The operator's copy of the manifests. */
  let copy;
  /** The id of the activity of SUBMIT. */
  let activity;
  /** The ids of the delivered events. */
  const delivered = [];
  const ending = new Ending();

  /** What the gateway has: the activity that it returns for SUBMIT, and the ids of the events in its log. */
  async function held() {
    const client = await connectTo(installation);
    const response = await client.call('PolicyService/CreatePolicies', SUBMIT);
    const events = idsOf(await listAll(client));
    client.close();
    return { activity: response.activity.id, events };
  }

  /** The objects that an upgrade must neither delete nor create again, with what distinguishes them from new ones. */
  const identities = () =>
    kubectl(
      'get',
      'statefulset,persistentvolumeclaim,service',
      inGateways,
      '--output=custom-columns=:.kind,:.metadata.uid',
    );

  /** Upgrades the gateway under load, while webhooks arrive. */
  async function upgrade(t, name, step) {
    const identitiesBefore = await identities();
    const results = await deliverDuring(installation.simulator, () => disruptions.disrupt(t, name, step));
    assert.deepEqual(new Set(results.map(({ status }) => status)), new Set([200]));
    delivered.push(...results.map(({ eventId }) => eventId));
    const { events, ...others } = await held();
    assert.deepEqual(others, { activity });
    // Beside these events, there are those of the load's activities.
    const stored = new Set(events);
    assert.equal(stored.size, events.length, 'an event is there twice');
    assert.deepEqual(
      delivered.filter((id) => !stored.has(id)),
      [],
    );
    assert.equal(await identities(), identitiesBefore);
  }

  before(async () => {
    const images = process.env.STAMPGATE_IMAGES;
    installation = await Installation.prepare(ending, images, { config });
    await ctr('images', 'import', join(images, `release-${RELEASE}.tar`));
    await ctr('images', 'tag', `docker.io/library/stampgate:${RELEASE}`, `${VALUES.image.repository}:${RELEASE}`);

    copy = scratch(ending);
    cpSync(join(images, `release-${RELEASE}`), copy, { recursive: true, dereference: true });
    const stringData = { 'stampgate.yaml': JSON.stringify(configOfRelease) };
    const metadata = { namespace: 'stampgate', name: 'stampgate-config' };
    const secret = { apiVersion: 'v1', kind: 'Secret', metadata, stringData };
    writeFileSync(join(copy, 'example/config.yaml'), JSON.stringify(secret));
    await applyCopy(copy, RELEASE, []);

    const address = '--output=jsonpath={.spec.clusterIP}';
    const clusterIp = await kubectl('get', 'service/stampgate-webhooks', inGateways, address);
    installation.simulator.webhooks.setEndpoints(null, [`http://${clusterIp}:8080${WEBHOOK_PATH}`]);
    delivered.push((await deliver(installation.simulator)).eventId);
    ({ activity } = await held());
    disruptions = await Disruptions.start(installation);
  });
  after(async () => {
    await disruptions?.end();
    await ending.end();
  });

  test('with kustomize, every event and every outcome is there, and no submit is lost or doubled', (t) =>
    upgrade(t, `kustomize, from ${RELEASE}`, async () => {
      cpSync(join(manifests, 'base'), join(copy, 'base'), { recursive: true });
      cpSync(join(manifests, 'example/namespace.yaml'), join(copy, 'example/namespace.yaml'));
      writeFileSync(join(copy, 'example/stampgate.yaml'), JSON.stringify(config));
      const { configMapGenerator } = kustomizations.find(({ name }) => name === 'example');
      await applyCopy(copy, TAGS[0], ['namespace.yaml'], { configMapGenerator });
    }));

  test('Helm takes over the objects of kustomize if its user says so', async (t) => {
    await assert.rejects(installation.install(), /invalid ownership metadata/);
    await upgrade(t, 'kustomize to Helm, with a new image', () =>
      installation.install({ tag: TAGS[1] }, '--take-ownership'),
    );
  });
});
