// PostgreSQL in pods. Does by hand what the operator CloudNativePG does with the database of
// deploy/kubernetes/prerequisites: a primary and standbys, the roles, the server's certificate, the service of the
// primary, and the failover.
import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { folder as deployment, parse } from '../deploy/manifests.mjs';
import { makeAuthority } from '../end_to_end/certificates.mjs';
import { scratch } from '../end_to_end/harness.mjs';
import { until } from '../end_to_end/processes.mjs';
import { kill } from './crash.mjs';
import { apply, ctr, kubectl, putSecret } from './kubectl.mjs';
import { RESTRICTED } from './pods.mjs';

const [NAMESPACE, CLUSTER] = parse(readFileSync(join(deployment, 'prerequisites/database.yaml'), 'utf8'));
const { name: cluster, namespace } = CLUSTER.metadata;
const { postgresql, bootstrap, managed, instances } = CLUSTER.spec;
const { database, owner } = bootstrap.initdb;
const [{ name: role }] = managed.roles;
const inNamespace = `--namespace=${namespace}`;

/** The names of the servers and of their pods. */
const NAMES = Array.from({ length: instances }, (_, index) => `${cluster}-${index + 1}`);
/** The service of the primary. */
const PRIMARY = `${cluster}-rw`;
export const HOST = `${PRIMARY}.${namespace}.svc`;
/** The role of the standbys. */
const REPLICATION = 'streaming_replica';

const PROGRAMS = '/usr/lib/postgresql/15/bin';
const DATA = '/data/files';

/** The labels of a pod, by which the network policies and the service select it. */
const labelsOf = (instanceRole) => ({ 'cnpg.io/cluster': cluster, 'cnpg.io/instanceRole': instanceRole });

/** Which standbys confirm each transaction. */
const { method, number } = postgresql.synchronous;
const synchronous = `${method} ${number} (${NAMES.map((name) => `"${name}"`).join(', ')})`;

const SETTINGS = {
  'postgresql.conf': [
    "listen_addresses = '*'",
    "unix_socket_directories = '/data'",
    "hba_file = '/etc/postgresql/pg_hba.conf'",
    'ssl = on',
    "ssl_cert_file = '/etc/postgresql-tls/tls.crt'",
    "ssl_key_file = '/etc/postgresql-tls/tls.key'",
    `synchronous_standby_names = '${synchronous}'`,
    // The operator's defaults.
    'wal_keep_size = 512MB',
    'wal_receiver_timeout = 5s',
    'wal_sender_timeout = 5s',
  ],
  'pg_hba.conf': ['local all all peer', `hostssl replication ${REPLICATION} all scram-sha-256`, ...postgresql.pg_hba],
};

/** A pod with a server. The command `fill` creates its files. */
const podOf = (name, instanceRole, fill) => {
  const container = {
    image: 'node.local/postgresql:1',
    securityContext: { ...RESTRICTED.container, readOnlyRootFilesystem: true },
    volumeMounts: [
      { name: 'data', mountPath: '/data' },
      { name: 'settings', mountPath: '/etc/postgresql' },
      { name: 'tls', mountPath: '/etc/postgresql-tls' },
    ],
  };
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { namespace, name, labels: labelsOf(instanceRole) },
    spec: {
      // The operator never starts an old primary as a primary again.
      restartPolicy: 'Never',
      automountServiceAccountToken: false,
      securityContext: { ...RESTRICTED.pod, fsGroup: 65532 },
      initContainers: [{ ...container, name: 'files', command: fill }],
      containers: [
        {
          ...container,
          name: 'postgres',
          command: [`${PROGRAMS}/postgres`, '-D', DATA, '--config-file=/etc/postgresql/postgresql.conf'],
          ports: [{ name: 'postgresql', containerPort: 5432 }],
          readinessProbe: { tcpSocket: { port: 'postgresql' }, periodSeconds: 1 },
        },
      ],
      volumes: [
        { name: 'data', emptyDir: {} },
        { name: 'settings', configMap: { name: cluster } },
        { name: 'tls', secret: { secretName: `${cluster}-server`, defaultMode: 0o440 } },
      ],
    },
  };
};

/** Runs statements at a server, each in a transaction of its own, and returns what they return. */
async function sql(name, ...statements) {
  const form = ['--host=/data', '--dbname=postgres', '--no-align', '--tuples-only', '--quiet', '--set=ON_ERROR_STOP=1'];
  const words = statements.map((statement) => `--command=${statement}`);
  return (await kubectl('exec', name, inNamespace, '--', `${PROGRAMS}/psql`, ...form, ...words)).trim();
}

const isReady = (name) => kubectl('wait', `pod/${name}`, inNamespace, '--for=condition=Ready', '--timeout=120s');

export class Database {
  #authority;
  /** The passwords of the roles. */
  #passwords = Object.fromEntries([owner, role, REPLICATION].map((each) => [each, randomBytes(16).toString('hex')]));
  #primary = NAMES[0];

  /** Imports the image in the folder `images`, and starts the servers, which end with the node. */
  static async start(t, images) {
    const started = new Database();
    started.#authority = makeAuthority(scratch(t), 'database');
    await ctr('images', 'import', join(images, 'postgresql.tar'));
    await started.#createObjects();
    const [primary, ...standbys] = NAMES;
    const form = ['--username=postgres', '--no-sync', '--encoding=UTF8', '--locale=C'];
    await apply(podOf(primary, 'primary', [`${PROGRAMS}/initdb`, `--pgdata=${DATA}`, ...form]));
    await isReady(primary);
    await started.#createRoles();
    for (const standby of standbys) await apply(started.#standby(standby));
    for (const standby of standbys) await isReady(standby);
    return started;
  }

  async #createObjects() {
    const metadata = { namespace, name: cluster };
    const data = Object.fromEntries(Object.entries(SETTINGS).map(([file, lines]) => [file, `${lines.join('\n')}\n`]));
    const ports = [{ name: 'postgresql', port: 5432 }];
    const service = { apiVersion: 'v1', kind: 'Service', metadata: { namespace, name: PRIMARY } };
    const restricted = { 'pod-security.kubernetes.io/enforce': 'restricted' };
    await apply({ ...NAMESPACE, metadata: { ...NAMESPACE.metadata, labels: restricted } });
    await apply(
      { apiVersion: 'v1', kind: 'ConfigMap', metadata, data },
      { ...service, spec: { selector: labelsOf('primary'), ports } },
    );
    const { cert, key } = this.#authority.issue({ name: `DNS:${HOST}` });
    await putSecret(namespace, `${cluster}-server`, { 'tls.crt': cert, 'tls.key': key });
  }

  /** Creates the roles and the database. No standby exists yet that could confirm this. */
  async #createRoles() {
    const roles = Object.entries(this.#passwords).map(
      ([name, password]) =>
        `CREATE ROLE ${name} LOGIN ${name === REPLICATION ? 'REPLICATION' : ''} PASSWORD '${password}'`,
    );
    const statements = ['SET synchronous_commit = local', ...roles, `CREATE DATABASE ${database} OWNER ${owner}`];
    await sql(this.#primary, ...statements);
  }

  /** A standby, which follows the server to which the service leads. */
  #standby(name) {
    const password = this.#passwords[REPLICATION];
    const primary = `host=${HOST} user=${REPLICATION} password=${password} application_name=${name}`;
    const form = ['--checkpoint=fast', '--no-sync', '--write-recovery-conf', `--dbname=${primary}`];
    return podOf(name, 'replica', [`${PROGRAMS}/pg_basebackup`, `--pgdata=${DATA}`, ...form]);
  }

  /** The files of the secrets `stampgate-database` and `stampgate-owner`, without the owner's config. */
  get secrets() {
    const ca = readFileSync(this.#authority.file);
    const files = (name) => ({ password: this.#passwords[name], 'ca.crt': ca });
    return { gateway: files(role), owner: files(owner) };
  }

  /** Kills the primary, makes the standby that has received most the primary, and moves the service to it. */
  async failOver() {
    const old = this.#primary;
    kill(old, 'postgres');
    const standbys = NAMES.filter((name) => name !== old);
    // Until its receiver has ended, a standby can still receive what the old primary has sent.
    const receivers = 'SELECT count(*) FROM pg_stat_wal_receiver';
    await until(
      async () => (await Promise.all(standbys.map((name) => sql(name, receivers)))).every((count) => count === '0'),
      'every receiver has ended',
    );
    const position = "SELECT pg_wal_lsn_diff(pg_last_wal_receive_lsn(), '0/0')";
    const received = await Promise.all(standbys.map(async (name) => BigInt(await sql(name, position))));
    this.#primary = standbys[received.indexOf(received.reduce((a, b) => (a > b ? a : b)))];
    await sql(this.#primary, 'SELECT pg_promote()');
    const label = (name, value) =>
      kubectl('label', `pod/${name}`, inNamespace, '--overwrite', `cnpg.io/instanceRole=${value}`);
    await label(old, 'replica');
    await label(this.#primary, 'primary');
    const streaming = "SELECT count(*) FROM pg_stat_replication WHERE state = 'streaming'";
    await until(async () => (await sql(this.#primary, streaming)) === '1', 'a standby follows the new primary');
  }
}
