// Reads the manifests of deploy/kubernetes as JavaScript objects: those for kustomize, and those that Helm renders.
import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { goPrograms, root } from '../paths.mjs';
import { load } from './packages.mjs';

export const yaml = load('yaml');

export const folder = join(root, 'deploy/kubernetes');
export const chart = join(folder, 'chart');

const yamlFiles = (name) =>
  readdirSync(join(folder, name))
    .sort()
    .filter((file) => file.endsWith('.yaml'))
    .map((file) => join(folder, name, file));

/** The content of the kustomization.yaml of each folder, and the names of the files in the folder. */
export const kustomizations = ['base', 'example', 'replicas'].map((name) => ({
  name,
  files: yamlFiles(name).map((file) => file.slice(folder.length + name.length + 2)),
  ...yaml.parse(readFileSync(join(folder, name, 'kustomization.yaml'), 'utf8')),
}));

/** The gateway's config in the example, which kustomize puts into the ConfigMap stampgate-config. */
const configFile = join(folder, 'example/stampgate.yaml');
export const configText = readFileSync(configFile, 'utf8');

const filesOf = (...names) =>
  names.flatMap(yamlFiles).filter((file) => !file.endsWith('kustomization.yaml') && file !== configFile);

/** The objects of a YAML text. Kubernetes reads YAML 1.1, where 0440 is octal. */
export function parse(text) {
  return yaml
    .parseAllDocuments(text, { version: '1.1' })
    .map((document) => {
      assert.deepEqual(document.errors, []);
      return document.toJS();
    })
    .filter((object) => object !== null);
}

const readFolders = (...names) => filesOf(...names).flatMap((file) => parse(readFileSync(file, 'utf8')));
const configMapOf = (config) => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name: 'stampgate-config', namespace: 'stampgate' },
  data: { 'stampgate.yaml': config },
});

/** All objects of base and example. Each call returns new objects, which a test may change. */
export const readAll = () => [...readFolders('base', 'example'), configMapOf(configText)];

/** Returns the object of this kind and name. Fails unless `objects` contain exactly one. */
export function find(objects, kind, name = 'stampgate') {
  const found = objects.filter((each) => each.kind === kind && each.metadata.name === name);
  assert.equal(found.length, 1, `${kind} ${name}`);
  return found[0];
}

export const podOf = (objects) => find(objects, 'StatefulSet').spec.template.spec;

/** Every pod of the manifests, as an object with `metadata` and `spec`, by the name of its workload. */
export const podsOf = (objects) =>
  Object.fromEntries(
    objects
      .map((object) => [object.metadata.name, object.kind === 'Pod' ? object : object.spec?.template])
      .filter(([, pod]) => pod),
  );

/** The gateway's config in the manifests. */
export const configOf = (objects) => yaml.parse(find(objects, 'ConfigMap', 'stampgate-config').data['stampgate.yaml']);

const page = readFileSync(join(folder, 'README.md'), 'utf8');

/** The part `store` of a config, and the config of the tables' owner, as the page shows them. */
export const [storeText, ownerText] = [...page.matchAll(/^ {3}```yaml\n( {3}store:\n[^]*?) {3}```$/gm)].map(
  ([, text]) => text.replace(/^ {3}/gm, ''),
);

/** Replaces the store in the config of the example. */
export function withStore(text, store) {
  const changed = text.replace(/^store:\n {2}sqlite:\n {4}folder: .*\n/m, store);
  assert.ok(changed.includes('postgresql'), 'the store was replaced');
  return changed;
}

/** Kubernetes' oldest release that the manifests support: the first one with the preStop action `sleep`. */
export const OLDEST = '1.30';

/** Helm, which deploy/install builds if the machine has Go. */
export const helm = join(goPrograms, 'helm');

/** The reason why no test can run Helm; false if one can. @type {string | false} */
export const whyNoHelm = existsSync(helm) ? false : 'deploy/install --tests has found no Go';

/** Runs Helm on a chart with these values. @param {string[]} command @param {object} values @param {string[]} options */
export function runHelm(command, values, ...options) {
  const work = mkdtempSync(join(tmpdir(), 'stampgate-chart-'));
  try {
    const file = join(work, 'values.json');
    writeFileSync(file, JSON.stringify(values));
    return spawnSync(helm, [...command, '--values', file, '--kube-version', OLDEST, ...options], { encoding: 'utf8' });
  } finally {
    rmSync(work, { recursive: true });
  }
}

/** The manifests that the chart has with these values, in the namespace stampgate, as Helm prints them. */
export function renderText(values, from = chart) {
  const { status, stdout, stderr } = runHelm(['template', 'stampgate', from, '--namespace', 'stampgate'], values);
  assert.equal(status, 0, stderr);
  return stdout;
}

/** The objects that the chart has with these values. */
export const renderChart = (values, from = chart) => parse(renderText(values, from));

export const IMAGE = { repository: 'registry.example.com/stampgate' };

/** Values that use every option of the chart, beside those of the store. */
export const EVERYTHING = {
  image: { ...IMAGE, digest: `sha256:${'a'.repeat(64)}`, pullSecrets: ['registry'] },
  nodeSelector: { pool: 'custody' },
  tolerations: [{ key: 'custody', operator: 'Exists' }],
  affinity: { podAntiAffinity: {} },
  priorityClassName: 'high',
  extraVolumes: [{ name: 'upstream-ca', secret: { secretName: 'upstream-ca', defaultMode: 0o440 } }],
  extraVolumeMounts: [{ name: 'upstream-ca', mountPath: '/etc/stampgate/upstream', readOnly: true }],
  auditShipper: {
    image: 'registry.example.com/shipper:1.0.0',
    command: ['/shipper'],
    args: ['/var/lib/stampgate'],
    env: [{ name: 'GATEWAY', valueFrom: { fieldRef: { fieldPath: 'metadata.name' } } }],
    secretName: 'shipper',
  },
  labels: { team: 'custody' },
  annotations: { contact: 'custody' },
  podLabels: { tier: 'signing' },
  podAnnotations: { 'prometheus.io/scrape': 'false' },
  networkPolicies: {
    extraEgress: [{ to: [{ ipBlock: { cidr: '203.0.113.9/32' } }], ports: [{ protocol: 'TCP', port: 6514 }] }],
  },
  certificate: { issuer: { name: 'internal' }, extraNames: ['stampgate.internal.example.org'] },
  tlsRoute: { parentRefs: [{ name: 'edge', namespace: 'gateways' }], hostnames: ['stampgate.example.org'] },
  httpRoute: { parentRefs: [{ name: 'edge', namespace: 'gateways' }], hostnames: ['hooks.example.org'] },
  ingress: { className: 'nginx', hostnames: ['hooks.example.org'], annotations: { 'example.org/body-size': '4m' } },
  monitoring: { podMonitor: true, rules: true, dashboard: true, labels: { release: 'prometheus' } },
  test: { secretName: 'stampgate-caller', organization: '7c9e6679-7425-40de-944b-e07fc1f90ae7' },
  volume: { storageClassName: 'encrypted' },
};
const SHARED = { store: 'postgresql', autoscaling: { enabled: true, callsInFlight: 500 } };

/** Reads once, and returns new objects each time. */
function remembering(read) {
  let objects;
  return () => structuredClone((objects ??= read()));
}

const configs = { sqlite: configText, postgresql: withStore(configText, storeText) };
const withHelm = (name, store, options) => {
  const values = { config: configs[store], ...options };
  const read = remembering(() => [...renderChart(values), ...readFolders('example')]);
  return { name, store, values, skip: whyNoHelm, read };
};
const replicas = () => [...readFolders('replicas', 'example'), configMapOf(configs.postgresql)];

const charts = [
  withHelm('the chart', 'sqlite', { image: IMAGE }),
  withHelm('the chart with replicas', 'postgresql', { image: IMAGE, ...SHARED }),
];

/**
 * The gateway's manifests in each form, with the config and the organizations of the example.
 * @type {{name: string, store: string, skip: string | false, read: () => object[]}[]}
 */
export const variants = [
  { name: 'the base', store: 'sqlite', skip: false, read: remembering(readAll) },
  { name: 'the replicas', store: 'postgresql', skip: false, read: remembering(replicas) },
  ...charts,
];

/** The chart with all its options. */
export const everything = withHelm('the chart with everything', 'postgresql', { ...EVERYTHING, ...SHARED });

/** The chart with few options, with those for replicas, and with all. */
export const chartVariants = [...charts, everything];
