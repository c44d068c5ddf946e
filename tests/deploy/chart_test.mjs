// Tests the Helm chart of deploy/kubernetes: its values and their schema, what it renders with them, and the commands of
// the page.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { cpSync, existsSync, readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { delimiter, dirname, join } from 'node:path';
import { describe, it } from 'node:test';
import { makeAuthority } from '../end_to_end/certificates.mjs';
import { HANG_MS, auditConfig, run, scratch, startStack } from '../end_to_end/harness.mjs';
import { binary, goPrograms } from '../paths.mjs';
import { ORGANIZATION } from '../simulator/testing.mjs';
import { layOut } from './example_layout.mjs';
import {
  EVERYTHING,
  IMAGE,
  OLDEST,
  chart,
  configText,
  everything,
  find,
  folder,
  helm,
  parse,
  podOf,
  renderChart,
  runHelm,
  whyNoHelm,
  yaml,
} from './manifests.mjs';

const values = yaml.parse(readFileSync(join(chart, 'values.yaml'), 'utf8'));
const schema = JSON.parse(readFileSync(join(chart, 'values.schema.json'), 'utf8'));
const page = readFileSync(join(folder, 'README.md'), 'utf8');

const idsOf = (objects) => objects.map(({ kind, metadata }) => `${kind} ${metadata.name}`);
const clone = (t) => {
  // Copies the files, because Bazel's runfiles are links, about which Helm prints warnings.
  const copy = join(scratch(t), 'chart');
  cpSync(chart, copy, { recursive: true, dereference: true });
  return copy;
};

describe('the values', () => {
  /** The names of all values that a schema describes, such as image.tag, with their schemas. */
  const described = (part, prefix = '') =>
    Object.entries(part.properties ?? {}).flatMap(([name, each]) => [
      [prefix + name, each],
      ...described(each, `${prefix}${name}.`),
    ]);

  it('are exactly those of the schema, and each has a description', () => {
    const inSchema = described(schema).filter(([name]) => name !== 'global');
    for (const [name, each] of inSchema) {
      const value = name.split('.').reduce((object, key) => object?.[key], values);
      assert.notEqual(value, undefined, `values.yaml lacks ${name}`);
      assert.ok(each.description, name);
    }
    const names = inSchema.map(([name]) => name);
    for (const name of Object.keys(values)) assert.ok(names.includes(name), name);
  });

  it('are all refused if the schema does not have them, at each level', () => {
    for (const [name, each] of [['', schema], ...described(schema)]) {
      if (each.properties) assert.equal(each.additionalProperties, false, name);
    }
  });

  it('have a comment', () => {
    const lines = readFileSync(join(chart, 'values.yaml'), 'utf8').split('\n');
    for (const name of Object.keys(values)) {
      let at = lines.findIndex((line) => line.startsWith(`${name}:`));
      // One comment can be for several values.
      while (at > 0 && /^[a-zA-Z]/.test(lines[at - 1])) --at;
      assert.match(lines[at - 1], /^ *#/, name);
    }
  });
});

describe('the chart', { skip: whyNoHelm, timeout: HANG_MS }, () => {
  it('passes the strict linter, with few values and with all', (t) => {
    const copy = clone(t);
    for (const some of [{ image: IMAGE }, { ...EVERYTHING, store: 'postgresql', autoscaling: { enabled: true } }]) {
      const { status, stdout } = runHelm(['lint', '--strict', copy], some);
      assert.equal(status, 0, stdout);
    }
    writeFileSync(join(copy, 'templates/broken.yaml'), 'a: {{ .Values.image.repositori.x }}\n');
    assert.notEqual(runHelm(['lint', '--strict', copy], { image: IMAGE }).status, 0);
  });

  it('is the source of the manifests for kustomize: rendering it again changes nothing', (t) => {
    const out = scratch(t);
    // render finds the chart beside itself.
    cpSync(folder, join(out, 'kubernetes'), { recursive: true, dereference: true });
    const rendered = join(out, 'rendered');
    execFileSync(join(out, 'kubernetes/render'), [rendered], {
      env: { ...process.env, PATH: `${goPrograms}${delimiter}${process.env.PATH}` },
    });
    const marked = /^# deploy\/kubernetes\/render has rendered this file/;
    for (const name of ['base', 'replicas', 'prerequisites', 'monitoring']) {
      const read = (from, file) => readFileSync(join(from, name, file), 'utf8');
      const files = readdirSync(join(rendered, name));
      for (const file of files) assert.equal(read(folder, file), read(rendered, file), `${name}/${file}`);
      const own = readdirSync(join(folder, name)).filter((file) => marked.test(read(folder, file)));
      assert.deepEqual(own.sort(), files.sort(), name);
    }
  });

  it('refuses values that are unknown, of another type, or do not fit together', () => {
    const refused = (some, reason) => {
      const { status, stderr } = runHelm(['template', 'stampgate', chart], { image: IMAGE, ...some });
      assert.notEqual(status, 0, JSON.stringify(some));
      assert.match(stderr, reason);
    };
    refused({ replica: 1 }, /replica/);
    refused({ image: { ...IMAGE, repo: 'x' } }, /repo/);
    refused({ networkPolicies: { enable: false } }, /enable/);
    refused({ image: { repository: '' } }, /set image\.repository/);
    refused({ image: { ...IMAGE, tag: 'latest' } }, /tag/);
    refused({ image: { ...IMAGE, digest: 'sha256:12' } }, /digest/);
    refused({ replicas: '1' }, /replicas/);
    refused({ replicas: 2 }, /replicas/);
    refused({ store: 'postgresql', replicas: 65 }, /replicas/);
    refused({ store: 'mysql' }, /store/);
    refused({ autoscaling: { enabled: true } }, /autoscaling/);
    refused({ store: 'postgresql', autoscaling: { enabled: true, cpuUtilization: null } }, /autoscaling/);
    refused({ resources: { cpu: '250m', memory: '1Gb' } }, /memory/);
    refused({ labels: { 'app.kubernetes.io/name': 'other' } }, /invalid propertyName/);
    refused({ networkPolicies: { callers: [{}] } }, /callers/);
    refused({ networkPolicies: { callers: [{ podselector: {} }] } }, /podselector/);
    refused({ networkPolicies: { extraEgress: [{ ports: [{ port: 443 }] }] } }, /extraEgress/);
    refused({ topologySpreadConstraints: [{ topologyKey: 'zone' }] }, /topologySpreadConstraints/);
    for (const route of ['tlsRoute', 'httpRoute'])
      refused({ [route]: { parentRefs: [{ name: 'edge' }] } }, RegExp(route));
    refused({ ingress: { className: 'nginx' } }, /ingress/);
    refused({ test: { secretName: 'caller' } }, /test/);
    refused({ certificate: { issuer: { name: 'internal', kind: 'Authority' } } }, /certificate/);
  });

  it('can be part of another chart, whose `global` it accepts', () => {
    assert.ok(renderChart({ image: IMAGE, global: { registry: 'x' } }).length > 0);
  });

  it('takes the config as text, byte for byte, and as a map, which the gateway reads as the same', async (t) => {
    const configIn = (config) =>
      find(renderChart({ image: IMAGE, config }), 'ConfigMap', 'stampgate-config').data['stampgate.yaml'];
    assert.equal(configIn(configText), configText);
    const text = configIn(yaml.parse(configText));
    assert.deepEqual(yaml.parse(text), yaml.parse(configText));
    const file = await layOut(scratch(t), () => text);
    const { status, stderr } = await run(['check', '--config', file]);
    assert.deepEqual([status, stderr], [0, '']);
    assert.deepEqual(
      renderChart({ image: IMAGE }).filter(({ kind }) => kind === 'ConfigMap'),
      [],
    );
  });

  it('refuses a config with another store, or with ports that the pod does not have', () => {
    const refused = (config, reason, some = {}) => {
      const { status, stderr } = runHelm(['template', 'stampgate', chart], { image: IMAGE, config, ...some });
      assert.notEqual(status, 0);
      assert.match(stderr, reason);
    };
    refused(configText, /store is postgresql/, { store: 'postgresql' });
    refused(configText.replace('0.0.0.0:7443', '0.0.0.0:7444'), /listen_address must have the port 7443/);
    refused(configText.replace('0.0.0.0:8080', '0.0.0.0:80'), /webhooks\.listen_address must have the port 8080/);
    refused(configText.replace(/^admin:\n.*\n/m, ''), /admin\.listen_address must have the port 8081/);
    refused('a: [', /config is not YAML/);
  });

  it('refuses a config with webhook paths, because everybody can read a ConfigMap', () => {
    const config = configText.replace(/^ {2}paths_file: .*$/m, '  paths: [/hooks/0123456789abcdef0123456789abcdef]');
    for (const each of [config, yaml.parse(config)]) {
      const { status, stderr } = runHelm(['template', 'stampgate', chart], { image: IMAGE, config: each });
      assert.notEqual(status, 0);
      assert.match(stderr, /webhooks\.paths is secret: remove it from the config, and set webhooks\.paths_file/);
    }
  });

  it('uses the digest of the image if there is one', () => {
    const imageOf = (image) => podOf(renderChart({ image })).containers[0].image;
    const { appVersion } = yaml.parse(readFileSync(join(chart, 'Chart.yaml'), 'utf8'));
    assert.equal(imageOf(IMAGE), `${IMAGE.repository}:${appVersion}`);
    assert.equal(imageOf({ ...IMAGE, tag: '1.0.0' }), `${IMAGE.repository}:1.0.0`);
    assert.equal(imageOf({ ...EVERYTHING.image, tag: '1.0.0' }), `${IMAGE.repository}@${EVERYTHING.image.digest}`);
  });

  it('has only objects of its namespace, which a team without rights on the cluster can create', () => {
    const kinds = [...new Set(everything.read().map(({ kind }) => kind))].filter((kind) => kind !== 'Namespace').sort();
    assert.deepEqual(kinds, [
      'Certificate',
      'ConfigMap',
      'HTTPRoute',
      'HorizontalPodAutoscaler',
      'Ingress',
      'Job',
      'NetworkPolicy',
      'Pod',
      'PodDisruptionBudget',
      'PodMonitor',
      'PrometheusRule',
      'Service',
      'ServiceAccount',
      'StatefulSet',
      'TLSRoute',
    ]);
    const few = renderChart({ image: IMAGE, networkPolicies: { enabled: false } });
    assert.deepEqual(idsOf(few).sort(), [
      'PodDisruptionBudget stampgate',
      'Service stampgate',
      'Service stampgate-metrics',
      'Service stampgate-webhooks',
      'ServiceAccount stampgate',
      'StatefulSet stampgate',
    ]);
  });

  it('leaves out the policy of a list without peers, so that nobody may connect', () => {
    const objects = renderChart({ image: IMAGE, networkPolicies: { webhooks: [] } });
    assert.ok(!idsOf(objects).includes('NetworkPolicy webhooks-from-ingress'));
    assert.deepEqual(find(objects, 'NetworkPolicy', 'default-deny').spec.policyTypes, ['Ingress', 'Egress']);
  });

  it('changes nothing that Kubernetes refuses to change, when its version changes', (t) => {
    const copy = clone(t);
    const before = renderChart({ image: IMAGE }, copy);
    const file = join(copy, 'Chart.yaml');
    writeFileSync(file, readFileSync(file, 'utf8').replace(/^(version|appVersion): .*$/gm, '$1: 9.9.9'));
    const after = renderChart({ image: IMAGE }, copy);
    assert.equal(podOf(after).containers[0].image, `${IMAGE.repository}:9.9.9`);
    podOf(after).containers[0].image = podOf(before).containers[0].image;
    assert.deepEqual(after, before);
  });

  it('lets cert-manager issue a certificate for all names that callers dial', () => {
    const objects = everything.read();
    const { spec } = find(objects, 'Certificate');
    const { name, namespace } = find(objects, 'Service').metadata;
    assert.deepEqual(spec.dnsNames, [
      ...['', '.svc', '.svc.cluster.local'].map((end) => `${name}.${namespace}${end}`),
      ...EVERYTHING.certificate.extraNames,
      ...EVERYTHING.tlsRoute.hostnames,
    ]);
    const tls = podOf(objects).volumes.find((volume) => volume.name === 'tls');
    assert.equal(spec.secretName, tls.secret.secretName);
  });

  it('forwards calls and deliveries to ports of its services', () => {
    const objects = everything.read();
    const backends = [
      ...['TLSRoute stampgate', 'HTTPRoute stampgate-webhooks'].map((id) => {
        const route = find(objects, ...id.split(' '));
        assert.ok(route.spec.hostnames.length > 0);
        return route.spec.rules[0].backendRefs[0];
      }),
      ...find(objects, 'Ingress', 'stampgate-webhooks').spec.rules.map(({ http }) => {
        const { service } = http.paths[0].backend;
        return { name: service.name, port: service.port.name };
      }),
    ];
    assert.equal(backends.length, 3);
    for (const { name, port } of backends) {
      const { ports } = find(objects, 'Service', name).spec;
      assert.ok(
        ports.some((each) => [each.port, each.name].includes(port)),
        `${name} ${port}`,
      );
    }
    const path = find(objects, 'HTTPRoute', 'stampgate-webhooks').spec.rules[0].matches[0].path.value;
    assert.ok(page.includes(`--from-literal=paths="${path}`));
  });

  it('gives the audit shipper the volume, the user of the gateway, and none of its secrets', () => {
    const [gateway, shipper] = podOf(everything.read()).containers;
    assert.equal(shipper.name, 'audit-shipper');
    assert.deepEqual(
      shipper.volumeMounts.map(({ mountPath }) => mountPath),
      ['/etc/audit-shipper', '/var/lib/stampgate'],
    );
    assert.deepEqual(shipper.securityContext, gateway.securityContext);
    assert.equal(shipper.resources.requests.memory, shipper.resources.limits.memory);
  });

  it('scales by calls in flight, as a metric that the gateway has', () => {
    const { metrics } = find(everything.read(), 'HorizontalPodAutoscaler').spec;
    assert.deepEqual(
      metrics.map(({ type }) => type),
      ['Resource', 'Pods'],
    );
    const { name } = metrics[1].pods.metric;
    assert.ok(readFileSync(join(chart, 'files/dashboard.json'), 'utf8').includes(name), name);
  });

  it('prints which secrets are missing, and how to call', (t) => {
    const copy = clone(t);
    // `helm template` does not print the notes, and `helm install` needs a cluster.
    writeFileSync(
      join(copy, 'templates/notes.yaml'),
      'kind: Notes\nmetadata: {name: notes}\ntext: {{ include (print .Template.BasePath "/NOTES.txt") . | toJson }}\n',
    );
    const notes = (some) => find(renderChart({ image: IMAGE, ...some }, copy), 'Notes', 'notes').text;
    const missing = (some) => /until these secrets exist: (.*)$/m.exec(notes(some))[1].replaceAll('stampgate-', '');
    assert.equal(missing({}), 'keys, audit, tls');
    assert.match(notes({}), /until the ConfigMap stampgate-config exists/);
    for (const config of [configText, yaml.parse(configText)]) {
      assert.equal(missing({ config, certificate: { issuer: { name: 'internal' } } }), 'keys, audit, webhooks');
      assert.doesNotMatch(notes({ config }), /ConfigMap/);
    }
    assert.equal(missing({ store: 'postgresql' }), 'keys, audit, tls, store, database, owner');
    assert.match(notes({}), /stampgate\.stampgate\.svc:7443 stampgate\.v1\.AuthenticationService\/Whoami/);
    assert.doesNotMatch(notes({}), /helm .* test/);
    assert.match(notes({ test: EVERYTHING.test }), /helm -n stampgate test stampgate/);
  });
});

describe('helm test', { skip: whyNoHelm, timeout: HANG_MS }, () => {
  /** Starts a gateway with TLS and one caller, and runs the container of the test pod against it. */
  async function runTest(t, config) {
    const folder = scratch(t);
    const authority = makeAuthority(folder, 'authority');
    const write = (name, bytes) => {
      writeFileSync(join(folder, name), bytes, { mode: 0o600 });
      return join(folder, name);
    };
    const server = authority.issue();
    const caller = authority.issue({ name: 'URI:spiffe://example.org/test', usage: 'clientAuth' });
    write('tls.crt', caller.cert);
    write('tls.key', caller.key);
    const tls = {
      certificate_file: write('server.crt', server.cert),
      private_key_file: write('server.key', server.key),
      client_ca_file: write('ca.crt', readFileSync(authority.file)),
    };
    const grants = [{ classes: ['query'], all_organizations: true }];
    const callers = [{ name: 'test', spiffe_ids: ['spiffe://example.org/test'], grants }];
    const { gateway } = await startStack(t, { config: { tls, callers, audit: await auditConfig(folder), ...config } });

    const test = { ...EVERYTHING.test, organization: ORGANIZATION };
    const { spec } = find(renderChart({ image: IMAGE, test }), 'Pod', 'stampgate-test');
    const args = spec.containers[0].args.map((argument) =>
      argument.replace('/etc/caller', folder).replace('stampgate.stampgate.svc:7443', gateway.address),
    );
    return run(args, { command: join(goPrograms, 'grpcurl') });
  }

  it('makes a call as a caller with a certificate, which the gateway signs and upstream answers', async (t) => {
    const { status, stdout, stderr } = await runTest(t, { reflection: true });
    assert.equal(status, 0, stderr);
    assert.equal(JSON.parse(stdout).organizationId, ORGANIZATION);
  });

  it('fails if the caller may not call', async (t) => {
    const callers = [{ name: 'test', spiffe_ids: ['spiffe://example.org/test'], grants: [] }];
    const { status, stderr } = await runTest(t, { reflection: true, callers });
    assert.notEqual(status, 0);
    assert.match(stderr, /PermissionDenied/);
  });

  it('fails if the gateway has no reflection', async (t) => {
    const { status, stderr } = await runTest(t, {});
    assert.notEqual(status, 0);
    assert.match(stderr, /reflection/);
  });
});

describe('the commands of the page', { skip: whyNoHelm, timeout: HANG_MS }, () => {
  const [, config] = /^```yaml\n([^]*?)^```$/m.exec(page);

  it('install a config that the gateway accepts without a warning', async (t) => {
    const { status, stderr } = await run(['check', '--config', await layOut(scratch(t), () => config)]);
    assert.deepEqual([status, stderr], [0, '']);
  });

  it('are five, and create all that the pod mounts', (t) => {
    const [, commands] = /Then five commands[^]*?\n\n((?: {4}.*\n)+)/.exec(page);
    const lines = commands
      .replace(/ \\\n */g, ' ')
      .trim()
      .split(/\n */);
    assert.equal(lines.length, 5);

    const work = scratch(t);
    writeFileSync(join(work, 'stampgate.yaml'), config, { mode: 0o600 });
    // There is no cluster: `helm template` prints the objects that `helm install` would create there.
    const template = `${helm} template --kube-version ${OLDEST}`;
    const PATH = [dirname(binary('gateway/stampgate')), process.env.PATH].join(delimiter);
    const execute = (command) =>
      execFileSync('sh', ['-ec', command], { cwd: work, encoding: 'utf8', env: { ...process.env, PATH } });
    const [objects, created] = [[], []];
    for (const line of lines) {
      if (line.startsWith('helm ')) {
        const command = line.replace(/oci:\S+/, clone(t)).replace('--create-namespace', '');
        objects.push(...parse(execute(command.replace('helm install', template))));
      } else if (line.startsWith('stampgate ')) {
        execute(line);
      } else {
        const [, name, file] = /^kubectl -n stampgate create secret generic (\S+) --from-file=(\S+)$/.exec(line);
        assert.ok(existsSync(join(work, file)), file);
        created.push(name);
      }
    }

    assert.equal(find(objects, 'ConfigMap', 'stampgate-config').data['stampgate.yaml'], config);
    created.push('stampgate-config', find(objects, 'Certificate').spec.secretName);
    const needed = podOf(objects)
      .volumes.map(({ secret, configMap }) => secret ?? configMap)
      .filter(({ optional }) => !optional)
      .map(({ secretName, name }) => secretName ?? name);
    assert.deepEqual(created.sort(), needed.sort());
    for (const { metadata } of objects) assert.equal(metadata.namespace, 'stampgate', metadata.name);
  });
});
