// Kubernetes' own code accepts every manifest, and refuses each after a small fault.
import assert from 'node:assert/strict';
import { cpSync, mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { chartVariants, find, folder, parse, readAll, renderText } from '../deploy/manifests.mjs';
import { root } from '../paths.mjs';
import { check, checkText, checkUpgrade, render, skip } from './checker.mjs';

// A copy, because Bazel's runfiles are links, and kustomize follows no link out of a folder.
const copy = mkdtempSync(join(tmpdir(), 'stampgate-kubernetes-'));
after(() => rmSync(copy, { recursive: true }));
cpSync(folder, copy, { recursive: true, dereference: true });

const read = (file) => readFileSync(join(folder, file), 'utf8');

/** The objects of several gateways in each release. */
const releases = join(root, 'tests/kubernetes/releases');

// An operator's copy of the example for several gateways, as the page describes it for an upgrade from 0.2.0.
const SEVERAL = 'several-gateways';
cpSync(join(copy, 'example'), join(copy, SEVERAL), { recursive: true });
cpSync(join(copy, 'prerequisites/database.yaml'), join(copy, SEVERAL, 'database.yaml'));
const objectsOf020 = readFileSync(join(releases, '0.2.0.yaml'), 'utf8').split(/^---$/m);
const oldConfig = objectsOf020.find((text) => /^kind: Secret$/m.test(text));
writeFileSync(join(copy, SEVERAL, 'config.yaml'), oldConfig);
const resources = '- ../replicas\n  - database.yaml\n  - config.yaml\n';
const ofSeveral = changed('example/kustomization.yaml', '- ../base\n', resources);
writeFileSync(join(copy, SEVERAL, 'kustomization.yaml'), ofSeveral);

for (const name of ['example', SEVERAL]) {
  mkdirSync(join(copy, `monitored-${name}`));
  const overlay = { kind: 'Kustomization', resources: [`../${name}`], components: ['../monitoring'] };
  writeFileSync(join(copy, `monitored-${name}/kustomization.yaml`), JSON.stringify(overlay));
}
const kustomizations = ['base', 'replicas', 'example', SEVERAL, 'monitored-example', `monitored-${SEVERAL}`];

/** The text of a file with a change. */
function changed(file, from, to) {
  const text = read(file);
  const other = text.replace(from, to);
  assert.notEqual(other, text);
  return other;
}

describe('Kubernetes', { skip }, () => {
  for (const name of kustomizations) {
    it(`accepts all objects of ${name}`, () => {
      const { status, output } = check(join(copy, name));
      assert.equal(status, 0, output);
      const objects = parse(render(join(copy, name)));
      assert.equal(output, `${join(copy, name)}: ${objects.length} objects are valid\n`);
    });
  }

  for (const { name, values, skip: whyNoHelm } of chartVariants) {
    it(`accepts all objects of ${name}`, { skip: whyNoHelm }, () => {
      const text = renderText(values);
      const { status, output } = checkText(text);
      assert.equal(status, 0, output);
      assert.equal(output, `-: ${parse(text).length} objects are valid\n`);
    });
  }

  it('accepts each file of the prerequisites, which no kustomization names', () => {
    for (const name of readdirSync(join(folder, 'prerequisites'))) {
      const { status, output } = check(join(folder, 'prerequisites', name));
      assert.equal(status, 0, output);
    }
  });

  it('gets from kustomize the objects of the files, with the image of the example', () => {
    const text = render(join(copy, 'example'));
    const names = (objects) => objects.map((each) => `${each.kind}/${each.metadata.name}`).sort();
    assert.deepEqual(names(parse(text)), names(readAll()));
    assert.match(text, /image: registry\.example\.com\/stampgate:/);
  });
});

const STATEFUL_SET = 'base/stateful_set.yaml';
const SERVICES = 'base/services.yaml';
const DATABASE = 'prerequisites/database.yaml';
const MIGRATION = 'replicas/migration.yaml';
const MONITOR = 'monitoring/pod_monitor.yaml';

/**
 * A text that is replaced, what replaces it, and what Kubernetes then reports.
 * @typedef {[string | RegExp, string, RegExp]} Change
 */

/** Faults in each file. @type {Object<string, Object<string, Change>>} */
const FAULTS = {
  [STATEFUL_SET]: {
    'a misspelt field': ['readOnlyRootFilesystem', 'readonlyRootFilesystem', /unknown field .*readonlyRootFilesystem/],
    'a key that is there twice': ['replicas: 1', 'replicas: 1\n  replicas: 2', /key "replicas" already set/],
    'a wrong type': ['replicas: 1', 'replicas: one', /cannot unmarshal string .*spec\.replicas of type int32/],
    'a wrong enum': ['Policy: Parallel', 'Policy: Serial', /podManagementPolicy: Invalid value: "Serial"/],
    'a bad quantity': ['storage: 20Gi', 'storage: 20 GiB', /quantities must match the regular expression/],
    'a request above the limit': [/(limits:\n *memory:) 1Gi/, '$1 1Mi', /less than or equal to memory limit of 1Mi/],
    // Kubernetes accepts it, and warns.
    'a part of a byte': [
      'ephemeral-storage: 128Mi',
      'ephemeral-storage: 128m',
      /warning: .* fractional byte value "128m"/,
    ],
    'a mount without a volume': [/name: keys\n(?= *secret)/, 'name: kex\n', /Not found: "keys"/],
    'two ports with one name': ['name: webhooks', 'name: grpc', /ports\[1\]\.name: Duplicate value: "grpc"/],
    'a selector of other pods': [/(template:[^]*?name: )stampgate/, '$1other', /`selector` does not match template/],
    'a probe that cannot fail': ['failureThreshold: 60', 'failureThreshold: -1', /greater than or equal to 0/],
    'a field that only newer releases have': [
      'enableServiceLinks: false',
      'hostnameOverride: gateway',
      /Kubernetes 1\.30\.\d+ has no field "spec\.template\.spec\.hostnameOverride"/,
    ],
    'a privileged container': [
      'allowPrivilegeEscalation: false',
      'privileged: true',
      /violates PodSecurity "restricted:latest": privileged: container "stampgate"/,
    ],
    'a pod without seccompProfile': [/seccompProfile:\n.*/, '', /"restricted:latest": seccompProfile:/],
    'a volume of the node': [
      /secret:\n *secretName: stampgate-keys\n *defaultMode: 0440/,
      'hostPath: {path: /}',
      /"restricted:latest": restricted volume types/,
    ],
  },
  [SERVICES]: {
    'a field in the wrong place': ['clusterIP: None', 'automount: false', /unknown field "spec\.automount"/],
    'a bad type of a service': ['type: ClusterIP', 'type: Cluster', /spec\.type: Unsupported value: "Cluster"/],
  },
  'example/namespace.yaml': {
    'a namespace in a namespace': ['labels:', 'namespace: other\n  labels:', /metadata\.namespace: Forbidden/],
    'a level that Pod Security does not know': [
      'enforce: restricted',
      'enforce: strict',
      /enforce\]?: Invalid value: "strict"/,
    ],
  },
  'base/service_account.yaml': {
    'a bad name': ['name: stampgate', 'name: Stampgate', /metadata\.name: Invalid value: "Stampgate"/],
  },
  'base/network_policies.yaml': {
    'a bad port of a policy': ['port: grpc', 'port: 70000', /ports\[0\]\.port: Invalid value: 70000/],
    'a bad range of a policy': ['10.0.0.0/8', '10.0.0.0/40', /except\[0\]: Invalid value: "10\.0\.0\.0\/40"/],
    'a range outside of its block': ['cidr: ::/0', 'cidr: fe80::/10', /must be a strict subset of `cidr`/],
    'a bad label': ['stampgate-caller: "true"', 'stampgate-caller: "a b"', /matchLabels: Invalid value: "a b"/],
  },
  'base/pod_disruption_budget.yaml': {
    'a budget with both numbers': [
      'maxUn',
      'minAvailable: 1\n  maxUn',
      /minAvailable and maxUnavailable cannot be both/,
    ],
  },
  [MIGRATION]: {
    'a job that restarts its pods': ['OnFailure', 'Always', /restartPolicy: Required value/],
    'a job that may be root': [
      'runAsNonRoot: true',
      'runAsNonRoot: false',
      /"restricted:latest": runAsNonRoot != true/,
    ],
    'a job with capabilities': ['drop: [ALL]', 'add: [SYS_PTRACE]', /"restricted:latest": unrestricted capabilities/],
  },
  'replicas/autoscaler.yaml': {
    'an old version of the API': ['autoscaling/v2', 'autoscaling/v2beta2', /no kind "HorizontalPodAutoscaler"/],
    'a maximum below the minimum': ['maxReplicas: 9', 'maxReplicas: 2', /maxReplicas: Invalid value: 2/],
  },
  [DATABASE]: {
    'a wrong type for an operator': ['instances: 3', 'instances: three', /spec\.instances: Invalid value: "string"/],
    'an unknown field for an operator': ['walStorage', 'walVolume', /unknown field "spec\.walVolume"/],
    'a wrong enum for an operator': ['method: any', 'method: all', /synchronous\.method: Unsupported value: "all"/],
    'a missing field for an operator': [/method: any\n */, '', /synchronous\.method: Required value/],
    // A rule in CEL.
    'a broken rule of an operator': [
      '  affinity:\n',
      '  imageCatalogRef: {kind: Other, name: a, major: 17, apiGroup: example.com}\n  affinity:\n',
      /Only image catalogs are supported/,
    ],
  },
  [MONITOR]: {
    'a key that is there twice for an operator': ['interval: 30s', 'port: grpc', /key "port" already set/],
    'a bad duration for an operator': ['interval: 30s', 'interval: thirty', /interval: Invalid value: "thirty"/],
    'a bad label for an operator': [
      'name: stampgate\nspec',
      'name: a b\nspec',
      /metadata\.labels: Invalid value: "a b"/,
    ],
    'a kind that nobody defines': ['kind: PodMonitor', 'kind: PodMonitors', /no kind "PodMonitors"/],
  },
};

describe('Kubernetes refuses', { skip }, () => {
  for (const [file, faults] of Object.entries(FAULTS)) {
    for (const [name, [from, to, reason]] of Object.entries(faults)) {
      it(name, () => {
        const { status, output } = checkText(changed(file, from, to));
        assert.equal(status, 1, output);
        assert.match(output, reason);
      });
    }
  }

  it('an empty text, such as that of a chart that Helm cannot render', () => {
    const { status, output } = checkText('# nothing\n---\n');
    assert.equal(status, 2);
    assert.equal(output, '- has no objects\n');
  });

  it('an object that is there twice', () => {
    const { status, output } = checkText([read(MONITOR), read(MONITOR)].join('---\n'));
    assert.equal(status, 1, output);
    assert.match(output, /^-: PodMonitor stampgate\/stampgate: the set has this object twice\n$/);
  });

  it('a cron job with a bad schedule', () => {
    const job = find(parse(read(MIGRATION)), 'Job', 'stampgate-migration');
    const cronJob = (schedule) => ({
      apiVersion: 'batch/v1',
      kind: 'CronJob',
      metadata: job.metadata,
      spec: { schedule, jobTemplate: { spec: job.spec } },
    });
    assert.equal(checkText(JSON.stringify(cronJob('5 4 * * 1'))).status, 0);
    const { status, output } = checkText(JSON.stringify(cronJob('5 4 * * 9')));
    assert.equal(status, 1);
    assert.match(output, /spec.schedule: Invalid value: "5 4 \* \* 9"/);
  });
});

describe('an upgrade', { skip }, () => {
  it('changes each kustomization into itself, and the example into several gateways', () => {
    for (const name of kustomizations) {
      const { status, output } = checkUpgrade(join(copy, name), render(join(copy, name)));
      assert.equal(status, 0, output);
    }
    const { status, output } = checkUpgrade(join(copy, 'example'), render(join(copy, SEVERAL)));
    assert.equal(status, 0, output);
  });

  for (const name of readdirSync(releases)) {
    it(`from ${name} changes everything but the job, which the page says to delete`, () => {
      const { status, output } = checkUpgrade(join(releases, name), render(join(copy, SEVERAL)));
      assert.equal(status, 1);
      assert.equal(output, '-: Job stampgate/stampgate-migration: spec.template: Invalid value: field is immutable\n');
      assert.match(read('README.md'), /kubectl -n stampgate delete job stampgate-migration/);
    });

    it(`from ${name} deletes nothing, even with a tool that deletes what the manifests no longer have`, () => {
      const ids = (text) => parse(text).map(({ kind, metadata }) => `${kind} ${metadata.namespace}/${metadata.name}`);
      const before = ids(readFileSync(join(releases, name), 'utf8'));
      const now = ids(render(join(copy, SEVERAL)));
      assert.deepEqual(
        before.filter((id) => !now.includes(id)),
        [],
      );
    });
  }

  /** @type {Object<string, Object<string, Change>>} */
  const FIXED = {
    [STATEFUL_SET]: {
      'the name of the service': ['serviceName: stampgate', 'serviceName: other', /updates to statefulset spec/],
      'the size of the volume': ['storage: 20Gi', 'storage: 40Gi', /updates to statefulset spec/],
      'the order in which pods start': ['Policy: Parallel', 'Policy: OrderedReady', /updates to statefulset spec/],
    },
    [SERVICES]: {
      'a service without an address': ['clusterIP: None', 'type: ClusterIP', /spec\.clusterIPs\[0\]: Invalid value/],
      'a service with an address': ['type: ClusterIP', 'clusterIP: None', /spec\.clusterIPs\[0\]: Invalid value/],
    },
    [DATABASE]: {
      'an object of an operator into a faulty one': ['instances: 3', 'instances: three', /spec\.instances: Invalid/],
    },
  };
  it('cannot change the type of a secret', () => {
    const secretOf = (type) => `apiVersion: v1\nkind: Secret\nmetadata: {name: a, namespace: b}\ntype: ${type}\n`;
    const file = join(copy, 'secret.yaml');
    writeFileSync(file, secretOf('Opaque'));
    const { status, output } = checkUpgrade(file, secretOf('example.com/other'));
    assert.equal(status, 1, output);
    assert.match(output, /Secret b\/a: type: .*field is immutable/);
  });

  for (const [file, changes] of Object.entries(FIXED)) {
    for (const [name, [from, to, reason]] of Object.entries(changes)) {
      it(`cannot change ${name}`, () => {
        const { status, output } = checkUpgrade(join(folder, file), changed(file, from, to));
        assert.equal(status, 1, output);
        assert.match(output, reason);
      });
    }
  }
});
