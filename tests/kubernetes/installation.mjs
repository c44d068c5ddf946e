// Installs the chart on the node, with a simulator on the node as upstream.
import { once } from 'node:events';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { connect, createServer } from 'node:net';
import { join } from 'node:path';
import { makeAuthority } from '../end_to_end/certificates.mjs';
import { WEBHOOK_PATH, auditConfig, scratch, writeKey } from '../end_to_end/harness.mjs';
import { root } from '../paths.mjs';
import { startSimulator } from '../simulator/server.mjs';
import { ORGANIZATION } from '../simulator/testing.mjs';
import { apply, ctr, helm, kubectl, putSecret } from './kubectl.mjs';

/** The node's address, to which node/settings/objects.yaml resolves the name of upstream. */
const NODE = '10.77.0.2';
const UPSTREAM = 'upstream.test';
export const CALLER = 'spiffe://example.org/ns/payments/sa/payouts';
export const GATEWAY = 'stampgate.stampgate.svc:7443';
/** The name in the gateway's certificate. */
export const SERVER_NAME = GATEWAY.split(':')[0];
/** The address that clients of gRPC dial. */
export const TARGET = `dns:///${GATEWAY}`;

/** Longer than a changed secret needs until the gateway uses it. */
export const SECRET_MS = 120_000;

/** The chart is installed with the first tag, and upgraded to the second one. */
export const TAGS = ['first', 'second'];

export const chart = join(root, 'deploy/kubernetes/chart');

/** The config of a single gateway. */
export const CONFIG = {
  listen_address: '0.0.0.0:7443',
  reflection: true,
  upstream: { base_url: `https://${UPSTREAM}`, ca_file: '/etc/stampgate/upstream/ca.crt' },
  tls: {
    certificate_file: '/etc/stampgate/tls/tls.crt',
    private_key_file: '/etc/stampgate/tls/tls.key',
    client_ca_file: '/etc/stampgate/tls/ca.crt',
  },
  admin: { listen_address: '0.0.0.0:8081' },
  audit: { file: '/var/lib/stampgate/audit.log', key_file: '/etc/stampgate/audit/audit.key' },
  store: { sqlite: { folder: '/var/lib/stampgate' } },
  webhooks: { listen_address: '0.0.0.0:8080', paths_file: '/etc/stampgate/webhooks/paths' },
  keys: [{ name: 'main', file: '/etc/stampgate/keys/main.key', all_organizations: true }],
  callers: [
    {
      name: 'payments',
      spiffe_ids: [CALLER],
      grants: [
        { classes: ['query', 'events'], all_organizations: true },
        { methods: ['PolicyService/CreatePolicies'], all_organizations: true },
      ],
    },
  ],
  class_grants_as_of: '2026-10-30',
};

/** The values of the chart for a single gateway. */
export const VALUES = {
  image: { repository: 'node.local/stampgate' },
  config: CONFIG,
  networkPolicies: { upstream: [{ ipBlock: { cidr: `${NODE}/32` } }] },
  extraVolumes: [{ name: 'upstream', secret: { secretName: 'upstream-authority' } }],
  extraVolumeMounts: [{ name: 'upstream', mountPath: '/etc/stampgate/upstream', readOnly: true }],
  test: { secretName: 'caller', organization: ORGANIZATION, image: 'node.local/grpcurl:1' },
};

/** The folder of the node that is the volume of a gateway. */
export const volumeOf = (index) => `/var/lib/volumes/${index}`;

export class Installation {
  /** Upstream. @type {Awaited<ReturnType<typeof startSimulator>>} */
  simulator;
  /** The certificate of the caller that the config names. */
  caller;
  #folder;
  #authority;
  #values;

  /**
   * Imports the images in the folder `images`, starts upstream, and creates the namespaces, the secrets and the volumes.
   * Installs nothing yet. Everything in this process ends with `t`; everything else ends with the node. `values` replace
   * those of a single gateway.
   */
  static async prepare(t, images, values = {}) {
    const prepared = new Installation();
    prepared.#values = { replicas: 1, ...VALUES, ...values };
    prepared.#folder = scratch(t);
    prepared.#authority = makeAuthority(prepared.#folder, 'callers');
    await prepared.#importImages(images);
    const upstreamAuthority = makeAuthority(prepared.#folder, 'upstream');
    await prepared.#startUpstream(t, upstreamAuthority.issue({ name: `DNS:${UPSTREAM}` }));
    await prepared.#createObjects(upstreamAuthority.file);
    return prepared;
  }

  async #importImages(folder) {
    await ctr('images', 'import', join(folder, 'caller.tar'));
    const [imported] = (await ctr('images', 'import', join(folder, 'stampgate.tar'))).match(/\S+\/stampgate:\S+/);
    for (const tag of TAGS) await ctr('images', 'tag', imported, `node.local/stampgate:${tag}`);
  }

  async #startUpstream(t, tls) {
    const simulator = await startSimulator({ tls, webhooks: { ca: readFileSync(this.#authority.file) } });
    // The simulator listens on loopback only.
    const forwarder = createServer((from) => {
      const to = connect(simulator.port, '127.0.0.1');
      for (const [one, other] of [
        [from, to],
        [to, from],
      ]) {
        one.on('error', () => {}).on('close', () => other.destroy());
        one.pipe(other);
      }
    });
    await once(forwarder.listen(443, NODE), 'listening');
    t.after(() => forwarder.close());
    t.after(() => simulator.close());
    this.simulator = simulator;
  }

  async #createObjects(upstreamAuthority) {
    const namespace = (name, labels = {}) => ({ apiVersion: 'v1', kind: 'Namespace', metadata: { name, labels } });
    await kubectl('apply', `--filename=${join(root, 'deploy/kubernetes/example/namespace.yaml')}`);
    await apply(namespace('payments', { 'stampgate-caller': 'true' }), namespace('stranger'), namespace('monitoring'));
    const folder = this.#folder;
    const { key_file } = await auditConfig(folder);
    this.caller = this.issue({ name: `URI:${CALLER}`, usage: 'clientAuth' });
    await putSecret('stampgate', 'stampgate-keys', { 'main.key': readFileSync(writeKey(folder)) });
    await putSecret('stampgate', 'stampgate-audit', { 'audit.key': readFileSync(key_file) });
    await putWebhookPaths(WEBHOOK_PATH);
    await putSecret('stampgate', 'upstream-authority', { 'ca.crt': readFileSync(upstreamAuthority) });
    await putSecret('stampgate', 'caller', this.caller);
    await putSecret('payments', 'caller', this.caller);
    await this.issueCertificate();
    for (let index = 0; index < this.#values.replicas; index += 1) await this.#createVolume(index);
  }

  /** A volume of the node, because no driver of a storage class creates volumes here. */
  #createVolume(index) {
    const path = volumeOf(index);
    mkdirSync(path, { recursive: true });
    const isHere = { key: 'kubernetes.io/hostname', operator: 'In', values: ['node-1'] };
    return apply({
      apiVersion: 'v1',
      kind: 'PersistentVolume',
      metadata: { name: `volume-${index}` },
      spec: {
        capacity: { storage: '20Gi' },
        accessModes: ['ReadWriteOncePod'],
        persistentVolumeReclaimPolicy: 'Retain',
        local: { path },
        nodeAffinity: { required: { nodeSelectorTerms: [{ matchExpressions: [isHere] }] } },
      },
    });
  }

  /** A certificate of the authority that the gateway, its callers and upstream trust, as cert-manager would write it. */
  issue(options) {
    const { cert, key } = this.#authority.issue(options);
    return { 'tls.crt': cert, 'tls.key': key, 'ca.crt': readFileSync(this.#authority.file) };
  }

  /** Replaces the gateway's certificate, and returns it as PEM. */
  async issueCertificate() {
    const pair = this.issue({ name: `DNS:${SERVER_NAME}` });
    await putSecret('stampgate', 'stampgate-tls', pair);
    return pair['tls.crt'];
  }

  /**
   * Installs the chart, or upgrades it, with `more` values and options. Waits until the gateway is ready.
   * @param {{tag?: string} & Record<string, any>} [values]
   * @param {string[]} options
   */
  async install({ tag = TAGS[0], ...more } = {}, ...options) {
    // Helm merges these values, also those of inner maps.
    const values = [this.#values, { image: { tag } }, more].map((part, index) => {
      const file = join(this.#folder, `values-${index}.json`);
      writeFileSync(file, JSON.stringify(part));
      return `--values=${file}`;
    });
    await helm('upgrade', '--install', 'stampgate', chart, '--namespace=stampgate', ...values, ...options);
    await ready();
  }
}

/** Replaces the webhook paths. */
export const putWebhookPaths = (...paths) => putSecret('stampgate', 'stampgate-webhooks', { paths: paths.join('\n') });

/** Waits until every gateway of the newest version is ready. */
export const ready = () =>
  kubectl('rollout', 'status', 'statefulset/stampgate', '--namespace=stampgate', '--timeout=280s');
