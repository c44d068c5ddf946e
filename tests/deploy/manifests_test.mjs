// Tests facts about the manifests that Kubernetes itself does not check (tests/kubernetes runs its checks). Each fact is
// a check that must pass for the manifests, and must fail after each of several changes that break the fact.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { configOf, find, kustomizations, podOf, variants } from './manifests.mjs';

const MIB = 2 ** 20;

/** The number that a Kubernetes quantity such as "1Gi" stands for. */
function quantity(text) {
  const [, number, unit] = /^(\d+)(|Ki|Mi|Gi|Ti)$/.exec(String(text));
  return Number(number) * 1024 ** ['', 'Ki', 'Mi', 'Gi', 'Ti'].indexOf(unit);
}

function seconds(duration) {
  const [, number] = /^(\d+)s$/.exec(duration);
  return Number(number);
}

/** Defines tests: `check` passes for each of these manifests, and fails after each change in `breaks`. */
function factOf(manifests, name, check, ...breaks) {
  for (const { name: of, store, skip, read } of manifests) {
    const things = () => {
      const objects = read();
      const stateful = find(objects, 'StatefulSet');
      const pod = podOf(objects);
      return { objects, stateful, pod, container: pod.containers[0], config: configOf(objects), store };
    };
    it(`${name} (${of})`, { skip }, () => {
      check(things());
      assert.ok(breaks.length > 0);
      for (const breakIt of breaks) {
        const broken = things();
        breakIt(broken);
        assert.throws(() => check(broken), assert.AssertionError, `the check does not detect ${breakIt}`);
      }
    });
  }
}
const fact = (name, check, ...breaks) => factOf(variants, name, check, ...breaks);
const single = variants.filter(({ store }) => store === 'sqlite');
const shared = variants.filter(({ store }) => store === 'postgresql');

const portOf = (address) => Number(/:(\d+)$/.exec(address)[1]);
const service = (objects, name) => find(objects, 'Service', name);
const policy = (objects, name) => find(objects, 'NetworkPolicy', name);

/** The volume that contains `path` in the container, with its mount. */
function volumeOf({ pod, container, stateful }, path) {
  const mount = container.volumeMounts.find(({ mountPath }) => path === mountPath || path.startsWith(`${mountPath}/`));
  assert.ok(mount, `${path} is on no volume`);
  const all = [
    ...pod.volumes,
    ...stateful.spec.volumeClaimTemplates.map(({ metadata, spec }) => ({ name: metadata.name, claim: spec })),
  ];
  const volume = all.find(({ name }) => name === mount.name);
  assert.ok(volume, `there is no volume ${mount.name}`);
  return { ...volume, mount };
}

describe('the files', () => {
  it('are exactly those that the kustomizations name', () => {
    for (const { name, files, resources, configMapGenerator = [] } of kustomizations) {
      const own = files.filter((each) => each !== 'kustomization.yaml');
      const named = [...resources, ...configMapGenerator.flatMap((configMap) => configMap.files)];
      assert.deepEqual(named.filter((each) => !each.startsWith('../')).sort(), own, name);
    }
    assert.ok(kustomizations.find(({ name }) => name === 'example').resources.includes('../base'));
  });
});

describe('the pod', () => {
  fact(
    'has one container, whose image has a version or a digest and is never "latest"',
    ({ pod, container }) => {
      assert.equal(pod.containers.length + (pod.initContainers ?? []).length, 1);
      assert.match(container.image, /(:\d+\.\d+\.\d+(-dev)?|@sha256:[0-9a-f]{64})$/);
    },
    ({ container }) => (container.image = 'stampgate:latest'),
    ({ container }) => (container.image = 'stampgate'),
    ({ pod }) => pod.containers.push({ name: 'shell', image: 'debian:12' }),
  );

  fact(
    'runs as the user and group of the image, and can write only to its data volume',
    ({ pod, container }) => {
      const { runAsUser, runAsGroup, fsGroup } = pod.securityContext;
      assert.deepEqual([runAsUser, runAsGroup, fsGroup], [65532, 65532, 65532]);
      assert.equal(container.securityContext.readOnlyRootFilesystem, true);
      const writable = container.volumeMounts.filter(({ readOnly }) => !readOnly).map(({ mountPath }) => mountPath);
      assert.deepEqual(writable.sort(), ['/var/lib/stampgate']);
    },
    ({ pod }) => delete pod.securityContext.runAsGroup,
    ({ pod }) => delete pod.securityContext.fsGroup,
    ({ container }) => (container.securityContext.readOnlyRootFilesystem = false),
    ({ container }) => delete container.volumeMounts[0].readOnly,
  );

  fact(
    'has no token and no role of the cluster, and does not share its process namespace',
    ({ objects, pod }) => {
      assert.equal(pod.automountServiceAccountToken, false);
      assert.equal(pod.enableServiceLinks, false);
      assert.ok(!pod.shareProcessNamespace);
      assert.equal(pod.serviceAccountName, 'stampgate');
      assert.equal(find(objects, 'ServiceAccount').automountServiceAccountToken, false);
      assert.ok(!objects.some(({ kind }) => /Role/.test(kind)));
    },
    ({ pod }) => delete pod.automountServiceAccountToken,
    ({ objects }) => delete find(objects, 'ServiceAccount').automountServiceAccountToken,
    ({ pod }) => (pod.shareProcessNamespace = true),
    ({ objects }) => objects.push({ kind: 'RoleBinding', metadata: { name: 'x' } }),
  );

  fact(
    'gets no secret in its environment or its arguments',
    ({ container }) => {
      assert.equal(container.env, undefined);
      assert.equal(container.envFrom, undefined);
      assert.deepEqual(container.args, ['serve', '--config', '/etc/stampgate/config/stampgate.yaml']);
      assert.equal(container.command, undefined);
    },
    ({ container }) => (container.env = [{ name: 'KEY', valueFrom: { secretKeyRef: { name: 'a', key: 'b' } } }]),
    ({ container }) => (container.envFrom = [{ secretRef: { name: 'stampgate-keys' } }]),
    ({ container }) => container.args.push('--key=x'),
  );

  fact(
    'gets secrets in whole folders, as files that only root and its group may read',
    ({ pod, container, store }) => {
      const secrets = pod.volumes.filter(({ secret }) => secret);
      // Never the password of the tables' owner.
      const expected = ['keys', 'tls', 'audit', 'webhooks', ...(store === 'postgresql' ? ['store', 'database'] : [])];
      assert.deepEqual(
        secrets.map(({ secret }) => secret.secretName),
        expected.map((each) => `stampgate-${each}`),
      );
      for (const { name, secret } of secrets) {
        assert.equal(secret.defaultMode, 0o440, name);
        assert.ok(!secret.items, `${name}: this test does not check the modes of single items`);
        // A gateway can do without webhooks.
        assert.equal(secret.optional ?? false, name === 'webhooks');
      }
      for (const mount of container.volumeMounts) {
        assert.equal(mount.subPath ?? mount.subPathExpr, undefined, `Kubernetes never updates ${mount.name}`);
      }
    },
    ({ pod }) => (pod.volumes[2].secret.defaultMode = 0o444),
    ({ pod }) => (pod.volumes[2].secret.optional = true),
    ({ pod }) => (pod.volumes[1].secret.defaultMode = 0o460),
    ({ pod }) => delete pod.volumes[1].secret.defaultMode,
    ({ container }) => (container.volumeMounts[1].subPath = 'main.key'),
    ({ pod }) => (pod.volumes[1].secret.items = [{ key: 'main.key', path: 'main.key', mode: 0o444 }]),
  );

  fact(
    'requests as much memory as its limit, has no CPU limit, and limits its ephemeral storage',
    ({ pod, container, config }) => {
      const { requests, limits } = container.resources;
      assert.equal(requests.memory, limits.memory);
      // Any peer can reach the webhook port.
      assert.ok(config.webhooks.max_bytes <= quantity(limits.memory) / 2);
      assert.ok(requests.cpu);
      assert.equal(limits.cpu, undefined);
      assert.ok(limits['ephemeral-storage']);
      assert.ok(!pod.volumes.some(({ emptyDir }) => emptyDir), 'the pod has a volume in memory');
    },
    ({ container }) => (container.resources.requests.memory = '64Mi'),
    ({ container }) => delete container.resources.requests.memory,
    ({ config }) => (config.webhooks.max_bytes = 1 << 30),
    ({ container }) => (container.resources.limits.cpu = '1'),
  );

  fact(
    'has HTTP probes on the admin port: startup and liveness at /livez, readiness at /readyz',
    ({ container }) => {
      const { startupProbe, livenessProbe, readinessProbe } = container;
      for (const [probe, path] of [
        [startupProbe, '/livez'],
        [livenessProbe, '/livez'],
        [readinessProbe, '/readyz'],
      ]) {
        assert.deepEqual(probe?.httpGet, { path, port: 'admin' });
        assert.ok(probe.timeoutSeconds <= probe.periodSeconds);
      }
      assert.ok(
        startupProbe.periodSeconds * startupProbe.failureThreshold >= 60,
        'too short to open a large event log',
      );
    },
    ({ container }) => (container.livenessProbe.httpGet.path = '/readyz'),
    ({ container }) => (container.readinessProbe.httpGet.port = 'grpc'),
    ({ container }) => delete container.startupProbe,
    ({ container }) => (container.livenessProbe = { tcpSocket: { port: 'grpc' } }),
  );

  fact(
    'has time to drain before it is killed',
    ({ pod, container, config }) => {
      const told = container.lifecycle.preStop.sleep.seconds;
      assert.ok(told >= 5);
      // At least 10 seconds must remain after the preStop sleep and the drain, for the gateway to close the event log
      // and the audit log.
      assert.ok(pod.terminationGracePeriodSeconds >= told + seconds(config.calls.drain_grace) + 10);
    },
    ({ pod }) => (pod.terminationGracePeriodSeconds = 30),
    ({ config }) => (config.calls.drain_grace = '60s'),
    ({ container }) => (container.lifecycle.preStop.sleep.seconds = 30),
  );
});

describe('the pods', () => {
  factOf(
    single,
    'with a store on a volume are never more than one',
    ({ stateful, config }) => {
      assert.equal(stateful.spec.replicas, 1);
      assert.equal(config.replica, undefined);
    },
    ({ stateful }) => (stateful.spec.replicas = 2),
  );

  factOf(
    shared,
    'with a store on PostgreSQL are as many as the autoscaler says, and spread over nodes and zones',
    ({ objects, stateful, pod }) => {
      assert.equal(stateful.spec.replicas, undefined);
      const { scaleTargetRef, minReplicas, maxReplicas } = find(objects, 'HorizontalPodAutoscaler').spec;
      assert.deepEqual(scaleTargetRef, { apiVersion: 'apps/v1', kind: 'StatefulSet', name: 'stampgate' });
      assert.ok(minReplicas >= 2 && maxReplicas <= 64, 'a store has 64 leases');
      assert.deepEqual(
        pod.topologySpreadConstraints.map(({ topologyKey, whenUnsatisfiable }) => [topologyKey, whenUnsatisfiable]),
        [
          ['kubernetes.io/hostname', 'DoNotSchedule'],
          ['topology.kubernetes.io/zone', 'ScheduleAnyway'],
        ],
      );
      for (const { labelSelector } of pod.topologySpreadConstraints) {
        assert.deepEqual(labelSelector, stateful.spec.selector);
      }
    },
    ({ stateful }) => (stateful.spec.replicas = 3),
    ({ objects }) => (find(objects, 'HorizontalPodAutoscaler').spec.maxReplicas = 65),
    ({ pod }) => (pod.topologySpreadConstraints[1].labelSelector = {}),
  );

  factOf(
    shared,
    'are replaced one after another, each after clients have learned the address of the one before',
    ({ stateful }) => assert.equal(stateful.spec.minReadySeconds, 30),
    ({ stateful }) => delete stateful.spec.minReadySeconds,
  );

  fact(
    'each have a volume that one pod can mount, and that outlives the pod',
    ({ stateful }) => {
      const { volumeClaimTemplates, persistentVolumeClaimRetentionPolicy } = stateful.spec;
      assert.equal(volumeClaimTemplates.length, 1);
      assert.deepEqual(volumeClaimTemplates[0].spec.accessModes, ['ReadWriteOncePod']);
      assert.deepEqual(persistentVolumeClaimRetentionPolicy, { whenDeleted: 'Retain', whenScaled: 'Retain' });
    },
    ({ stateful }) => (stateful.spec.volumeClaimTemplates[0].spec.accessModes = ['ReadWriteMany']),
    ({ stateful }) => (stateful.spec.persistentVolumeClaimRetentionPolicy.whenDeleted = 'Delete'),
  );

  fact(
    'are replaced by the next change even if they never become ready, and keep the modes of their files',
    ({ stateful, pod }) => {
      assert.equal(stateful.spec.podManagementPolicy, 'Parallel');
      assert.equal(stateful.spec.updateStrategy.type, 'RollingUpdate');
      assert.equal(pod.securityContext.fsGroupChangePolicy, 'OnRootMismatch');
    },
    ({ stateful }) => delete stateful.spec.podManagementPolicy,
    ({ stateful }) => (stateful.spec.updateStrategy.type = 'OnDelete'),
    ({ pod }) => delete pod.securityContext.fsGroupChangePolicy,
  );

  fact(
    'do not block the drain of a node',
    ({ objects, stateful }) => {
      const { maxUnavailable, minAvailable, selector, unhealthyPodEvictionPolicy } = find(
        objects,
        'PodDisruptionBudget',
      ).spec;
      assert.equal(maxUnavailable, 1);
      assert.equal(minAvailable, undefined);
      assert.equal(unhealthyPodEvictionPolicy, 'AlwaysAllow');
      assert.deepEqual(selector, stateful.spec.selector);
    },
    ({ objects }) => (find(objects, 'PodDisruptionBudget').spec = { minAvailable: 1 }),
    ({ objects }) => (find(objects, 'PodDisruptionBudget').spec.maxUnavailable = 0),
    ({ objects }) => (find(objects, 'PodDisruptionBudget').spec.selector.matchLabels = {}),
  );
});

describe('the namespace', () => {
  fact(
    'enforces the restricted profile of Pod Security',
    ({ objects }) => {
      const { labels } = find(objects, 'Namespace').metadata;
      for (const mode of ['enforce', 'warn', 'audit']) {
        assert.equal(labels[`pod-security.kubernetes.io/${mode}`], 'restricted');
      }
    },
    ({ objects }) => delete find(objects, 'Namespace').metadata.labels['pod-security.kubernetes.io/enforce'],
  );
});

describe('names and ports', () => {
  fact(
    'are the same in the config, the container and the services',
    ({ objects, stateful, container, config }) => {
      const named = Object.fromEntries(container.ports.map(({ name, containerPort }) => [name, containerPort]));
      assert.deepEqual(named, {
        grpc: portOf(config.listen_address),
        webhooks: portOf(config.webhooks.listen_address),
        admin: portOf(config.admin.listen_address),
      });
      const expected = [
        ['stampgate', 'grpc', 'https'],
        ['stampgate-webhooks', 'webhooks', 'http'],
        ['stampgate-metrics', 'admin', 'http'],
      ];
      assert.equal(objects.filter(({ kind }) => kind === 'Service').length, expected.length);
      for (const [name, port, appProtocol] of expected) {
        const { spec } = service(objects, name);
        assert.deepEqual(spec.ports, [{ name: port, port: named[port], targetPort: port, appProtocol }]);
        assert.deepEqual(spec.selector, stateful.spec.selector.matchLabels);
        assert.ok((spec.type ?? 'ClusterIP') === 'ClusterIP', 'the service is reachable from outside of the cluster');
      }
      assert.equal(service(objects, 'stampgate').spec.clusterIP, 'None');
      assert.equal(stateful.spec.serviceName, 'stampgate');
      assert.deepEqual(stateful.spec.template.metadata.labels, stateful.spec.selector.matchLabels);
    },
    ({ config }) => (config.listen_address = '0.0.0.0:7444'),
    ({ config }) => (config.admin.listen_address = '0.0.0.0:8080'),
    ({ container }) => (container.ports[1].containerPort = 8088),
    ({ objects }) => (service(objects, 'stampgate-metrics').spec.ports[0].targetPort = 'grpc'),
    ({ objects }) => (service(objects, 'stampgate-webhooks').spec.type = 'LoadBalancer'),
    ({ objects }) => delete service(objects, 'stampgate').spec.clusterIP,
    ({ stateful }) => (stateful.spec.template.metadata.labels = { app: 'stampgate' }),
  );

  fact(
    'are all in one namespace',
    ({ objects }) => {
      for (const { kind, metadata } of objects) {
        assert.equal(kind === 'Namespace' ? metadata.name : metadata.namespace, 'stampgate', kind);
      }
    },
    ({ objects }) => delete service(objects, 'stampgate').metadata.namespace,
  );

  fact(
    'of files in the config lead to the right volumes',
    (things) => {
      const { config, container } = things;
      const on = (path) => volumeOf(things, path);
      assert.equal(on(container.args[2]).configMap?.name, 'stampgate-config');
      assert.equal(on(config.webhooks.paths_file).secret?.secretName, 'stampgate-webhooks');
      for (const { file } of config.keys) assert.equal(on(file).secret?.secretName, 'stampgate-keys');
      const { certificate_file, private_key_file, client_ca_file } = config.tls;
      for (const path of [certificate_file, private_key_file, client_ca_file]) {
        assert.equal(on(path).secret?.secretName, 'stampgate-tls');
      }
      // The file names that cert-manager and `kubectl create secret tls` use.
      assert.deepEqual(
        [certificate_file, private_key_file, client_ca_file].map((path) => path.split('/').at(-1)),
        ['tls.crt', 'tls.key', 'ca.crt'],
      );
      assert.equal(on(config.audit.key_file).secret?.secretName, 'stampgate-audit');
      assert.ok(on(config.audit.file).claim);
      for (const { organizations_file: path } of config.callers.flatMap(({ grants }) => grants)) {
        if (path) assert.equal(on(path).configMap?.name, 'stampgate-organizations');
      }
    },
    ({ config }) => (config.keys[0].file = '/tmp/main.key'),
    ({ config }) => (config.webhooks.paths_file = '/etc/stampgate/config/paths'),
    ({ config }) => (config.tls.private_key_file = '/etc/stampgate/keys/tls.key'),
    ({ config }) => (config.audit.file = '/etc/stampgate/config/audit.log'),
    ({ container }) => container.volumeMounts.splice(3, 1),
  );

  factOf(
    single,
    'of the store in the config lead to the volume, which has space for the audit log too',
    (things) => {
      const { claim } = volumeOf(things, things.config.store.sqlite.folder);
      assert.ok(claim);
      const room = quantity(claim.resources.requests.storage);
      assert.ok(things.config.events.retention_bytes <= room * 0.6, 'too little space remains for the audit log');
    },
    ({ config }) => (config.store.sqlite.folder = '/etc/stampgate/config'),
    ({ config }) => (config.events.retention_bytes = 20 * 1024 ** 3),
  );

  factOf(
    shared,
    'of the files of the store in the config lead to the right volumes',
    (things) => {
      const { password_file, ca_file, key_file } = things.config.store.postgresql;
      for (const path of [password_file, ca_file]) {
        assert.equal(volumeOf(things, path).secret?.secretName, 'stampgate-database');
      }
      assert.equal(volumeOf(things, key_file).secret?.secretName, 'stampgate-store');
    },
    ({ config }) => (config.store.postgresql.key_file = '/etc/stampgate/keys/store.key'),
    ({ config }) => (config.store.postgresql.password_file = '/etc/stampgate/owner/password'),
  );
});

describe('the network policies', () => {
  const policies = (objects) => objects.filter(({ kind }) => kind === 'NetworkPolicy');

  fact(
    'deny by default all connections in both directions',
    ({ objects }) =>
      assert.deepEqual(policy(objects, 'default-deny').spec, {
        podSelector: {},
        policyTypes: ['Ingress', 'Egress'],
      }),
    ({ objects }) => (policy(objects, 'default-deny').spec.policyTypes = ['Ingress']),
    ({ objects }) => (policy(objects, 'default-deny').spec.ingress = [{}]),
  );

  fact(
    'allow each port in one rule, only for peers with labels of both namespace and pod',
    ({ objects, stateful, container }) => {
      const rules = policies(objects).flatMap(({ spec }) => (spec.ingress ?? []).map((rule) => ({ spec, rule })));
      for (const { spec, rule } of rules) {
        assert.deepEqual(spec.podSelector, stateful.spec.selector);
        assert.deepEqual(spec.policyTypes, ['Ingress']);
        assert.ok(rule.from?.length > 0, 'a rule without peers allows all peers');
        for (const peer of rule.from) {
          assert.deepEqual(Object.keys(peer).sort(), ['namespaceSelector', 'podSelector']);
          for (const { matchLabels } of Object.values(peer)) assert.ok(Object.keys(matchLabels ?? {}).length > 0);
        }
        assert.equal(rule.ports?.length, 1);
      }
      const ports = rules.map(({ rule }) => rule.ports[0].port);
      assert.deepEqual(ports.sort(), container.ports.map(({ name }) => name).sort());
    },
    ({ objects }) => delete policy(objects, 'grpc-from-callers').spec.ingress[0].from,
    ({ objects }) => delete policy(objects, 'grpc-from-callers').spec.ingress[0].ports,
    ({ objects }) => delete policy(objects, 'webhooks-from-ingress').spec.ingress[0].from[0].podSelector,
    ({ objects }) => (policy(objects, 'metrics-from-monitoring').spec.ingress[0].from[0].namespaceSelector = {}),
    ({ objects }) => (policy(objects, 'metrics-from-monitoring').spec.ingress[0].ports[0].port = 'grpc'),
    ({ objects }) => (policy(objects, 'webhooks-from-ingress').spec.podSelector = {}),
  );

  fact(
    "allow connections to the cluster's DNS and to the database, and over HTTPS to addresses outside of the cluster",
    ({ objects, store }) => {
      const rules = policies(objects).flatMap(({ spec }) => spec.egress ?? []);
      const ports = (rule) =>
        (rule.ports ?? [])
          .map(({ protocol, port }) => `${protocol} ${port}`)
          .sort()
          .join();
      const [dns, database] = ['TCP 53,UDP 53', 'TCP 5432'];
      // The migration has a policy of its own.
      const ofDatabase = store === 'sqlite' ? [dns] : [dns, dns, database, database];
      assert.deepEqual(rules.map(ports).sort(), ['TCP 443', ...ofDatabase]);
      for (const rule of rules) {
        assert.ok(rule.to?.length > 0, 'a rule without peers allows all peers');
        for (const { ipBlock, namespaceSelector, podSelector } of rule.to) {
          if (ports(rule) !== 'TCP 443') {
            assert.ok(namespaceSelector?.matchLabels && podSelector?.matchLabels && !ipBlock);
          } else if (ipBlock.cidr === '0.0.0.0/0') {
            for (const range of ['10.0.0.0/8', '100.64.0.0/10', '169.254.0.0/16', '172.16.0.0/12', '192.168.0.0/16']) {
              assert.ok(ipBlock.except?.includes(range), range);
            }
          } else {
            assert.equal(ipBlock.cidr, '::/0');
            for (const range of ['fc00::/7', 'fe80::/10']) assert.ok(ipBlock.except?.includes(range), range);
          }
        }
      }
    },
    ({ objects }) => policy(objects, 'upstream').spec.egress[0].ports.push({ protocol: 'TCP', port: 80 }),
    ({ objects }) => delete policy(objects, 'upstream').spec.egress[0].to,
    ({ objects }) => policy(objects, 'upstream').spec.egress[0].to[0].ipBlock.except.splice(3, 1),
    ({ objects }) => delete policy(objects, 'upstream').spec.egress[0].to[1].ipBlock.except,
    ({ objects }) => delete policy(objects, 'dns').spec.egress[0].to[0].namespaceSelector,
    ({ objects }) => delete policy(objects, 'dns').spec.egress[0].ports,
  );
});

describe('the example', () => {
  const example = variants.slice(0, 1);

  factOf(
    example,
    'contains no key and no other secret',
    ({ objects, config }) => {
      assert.ok(objects.every(({ kind }) => kind !== 'Secret'));
      assert.equal(config.webhooks.paths, undefined);
      assert.doesNotMatch(JSON.stringify(objects), /-----BEGIN|(?<![0-9a-z])[0-9a-f]{64}(?![0-9a-z])/i);
    },
    ({ config }) => (config.webhooks.paths = ['/hooks/0123456789abcdef0123456789abcdef']),
    ({ objects }) => objects.push({ kind: 'Secret', metadata: { name: 'stampgate-keys' } }),
    ({ objects }) => (find(objects, 'ConfigMap', 'stampgate-organizations').data.key = '0123456789abcdef'.repeat(4)),
  );

  factOf(
    example,
    'grants three teams what they need, and no writes or dangerous methods by class',
    ({ config }) => {
      const grants = Object.fromEntries(config.callers.map(({ name, grants: list }) => [name, list]));
      assert.deepEqual(Object.keys(grants), ['payments', 'support', 'login']);
      for (const caller of config.callers) {
        assert.ok(caller.spiffe_ids?.length > 0 !== caller.dns_names?.length > 0);
        assert.ok(!caller.loopback);
        for (const grant of caller.grants) {
          assert.ok(!grant.classes?.some((name) => name === 'dangerous' || name === 'write'), caller.name);
          assert.ok(!grant.dangerous_fields && !grant.general_operations);
          assert.ok(
            config.keys.some(({ name }) => name === grant.key),
            grant.key,
          );
        }
      }
      assert.ok(grants.payments.every((grant) => grant.organizations && !grant.all_organizations));
      for (const limit of grants.payments[0].amount_limits) assert.ok(limit.contract && limit.max_amount);
      assert.deepEqual(
        grants.support.map(({ classes }) => classes),
        [['query']],
      );
      assert.ok(grants.login.every((grant) => grant.organizations_file));
    },
    ({ config }) => config.callers[1].grants.push({ classes: ['dangerous'], all_organizations: true, key: 'main' }),
    ({ config }) => delete config.callers[0].grants[0].amount_limits[0].max_amount,
    ({ config }) => (config.callers[2].grants[0] = { classes: ['login'], all_organizations: true, key: 'main' }),
    ({ config }) => (config.callers[0].spiffe_ids = []),
  );
});
