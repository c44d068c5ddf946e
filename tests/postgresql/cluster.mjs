// PostgreSQL servers for tests, and clusters of a primary and standbys. The servers listen on Unix sockets.
import { spawn } from 'node:child_process';
import { appendFileSync, closeSync, cpSync, mkdirSync, mkdtempSync, openSync } from 'node:fs';
import { readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { Namespace } from '../end_to_end/namespace.mjs';
import { until } from '../end_to_end/processes.mjs';
import { mount } from '../end_to_end/small_disk.mjs';

/** The programs of the versions that deploy/install has installed: the oldest supported version, and the newest. */
const PROGRAMS = {
  15: '/usr/lib/postgresql/15/bin',
  18: join(homedir(), '.cache/stampgate/postgresql-python/embedded_postgres/pginstall/bin'),
};

/** PostgreSQL refuses to run as root. In a user namespace of its own, the program has another user id. */
export const NOT_ROOT = ['unshare', '--user', '--map-user=1000', '--map-group=1000', '--'];
/** The program ends together with this process. */
const ENDS_TOO = ['setpriv', '--pdeathsig', 'KILL', '--'];

const CONNECT_SECONDS = 5;

/** Runs a program until it exits. Resolves to its output. Rejects if its status is not 0. */
function run(words, env = {}) {
  return new Promise((resolve, reject) => {
    const child = spawn(words[0], words.slice(1), {
      stdio: ['ignore', 'pipe', 'pipe'],
      env: { ...process.env, ...env },
    });
    let stdout = '';
    let stderr = '';
    child.stdout.on('data', (data) => (stdout += data));
    child.stderr.on('data', (data) => (stderr += data));
    child.on('error', reject);
    child.on('close', (status) => {
      if (status === 0) resolve(stdout);
      else reject(new Error(`${words.join(' ')} exited with ${status}: ${stderr}`));
    });
  });
}

/** The processes whose parent is `pid`. */
function childrenOf(pid) {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
    .filter((child) => stateOf(child)?.parent === pid);
}

/** The parent and the state of a process; undefined if it has ended. */
function stateOf(pid) {
  let text;
  try {
    text = readFileSync(`/proc/${pid}/stat`, 'utf8');
  } catch {
    return undefined;
  }
  // "process (name) state parent ..."
  const [state, parent] = text.slice(text.lastIndexOf(')') + 2).split(' ');
  return state === 'Z' ? undefined : { state, parent: Number(parent) };
}

/** Sends a signal to a process, unless it has ended. */
function signal(pid, name) {
  try {
    process.kill(pid, name);
  } catch (error) {
    if (error.code !== 'ESRCH') throw error;
  }
}

/** A position in the server's log, "high/low" in hex, as a number. */
function numberOf(lsn) {
  const [high, low] = lsn.split('/').map((part) => BigInt(`0x${part}`));
  return (high << 32n) + low;
}

/** A server. */
export class PostgresServer {
  /** @type {15 | 18} */
  version;
  /** The name under which it confirms transactions as a standby. @type {string} */
  name;
  /** The folder of its socket and its log. @type {string} */
  folder;
  /** Its IP address, if it has one. @type {string | undefined} */
  address;
  /** Its address for a config. @type {string} */
  host;
  /** Its disk, if it has a small one, for this process. @type {string | undefined} */
  disk;
  /** The folder of its data, for the server. @type {string} */
  data;
  /** The same folder, for this process. @type {string} */
  files;
  #child;
  /** The words before a command that runs in the server's namespaces. */
  #inside = [];

  /**
   * Creates and starts a server. It ends with the test `t`.
   * @param {object} t
   * @param {object} [options]
   * @param {15 | 18} [options.version]
   * @param {string} [options.name]
   * @param {string[]} [options.settings] lines of postgresql.conf
   * @param {object} [options.place] see #make
   */
  static async create(t, { version = 15, name = 'n1', settings = [], place } = {}) {
    const server = await PostgresServer.#make(t, version, name, place);
    const form = ['--auth=trust', '--username=postgres', '--no-sync', '--encoding=UTF8', '--locale=C'];
    await server.#program('initdb', '--pgdata', server.data, ...form);
    const lines = [
      ...['shared_buffers = 16MB', 'max_connections = 100', 'max_wal_senders = 10', 'wal_log_hints = on'],
      ...['wal_level = replica', 'wal_keep_size = 512MB', 'wal_retrieve_retry_interval = 100ms', 'hot_standby = on'],
      ...["include 'own.conf'", ...settings],
    ];
    appendFileSync(join(server.files, 'postgresql.conf'), `${lines.join('\n')}\n`);
    const kinds = ['all', 'replication'];
    const rules = kinds.map((kind) => `host ${kind} all all trust\n`);
    appendFileSync(join(server.files, 'pg_hba.conf'), rules.join(''));
    server.#writeOwnSettings();
    await server.start();
    return server;
  }

  /** Creates and starts a standby of `primary`. */
  static async standbyOf(t, primary, name, place) {
    const server = await PostgresServer.#make(t, primary.version, name, place);
    await server.rebuild(primary);
    return server;
  }

  /**
   * Starts a server with the data of a backup. Resolves when the server is a primary.
   * @param {object} t
   * @param {PostgresBackup} backup
   * @param {object} options
   * @param {15 | 18} options.version
   * @param {string} options.name
   * @param {string[]} [options.target] lines of postgresql.conf that say where the restoration ends; without them, it
   *     ends at the end of the archive
   */
  static async restore(t, backup, { version, name, target = [] }) {
    const server = await PostgresServer.#make(t, version, name);
    cpSync(backup.base, server.files, { recursive: true });
    server.#writeOwnSettings(undefined, backup.settingsOfRestoration(target));
    writeFileSync(join(server.files, 'recovery.signal'), '');
    await server.start();
    await server.isPrimary();
    return server;
  }

  /**
   * Makes a server without data. It ends with the test `t`.
   * @param {object} t
   * @param {15 | 18} version
   * @param {string} name
   * @param {object} [place]
   * @param {number} [place.diskMebibytes] puts the data on a disk of this size, which loses its content with the test
   * @param {{namespace: Namespace, address: string}} [place.network] the server also listens at this IP address of a
   *     network namespace, and standbys there connect to it
   */
  static async #make(t, version, name, { diskMebibytes, network } = {}) {
    const server = new PostgresServer();
    // A short path, because the path of a Unix socket must be short.
    const folder = mkdtempSync('/tmp/postgres-');
    const address = network?.address;
    const data = join(folder, 'data');
    Object.assign(server, { version, name, folder, address, data, files: data, host: `${address ?? folder}:5432` });
    if (network !== undefined) server.#inside = [...network.namespace.words, ...NOT_ROOT];
    else if (process.getuid() === 0) server.#inside = NOT_ROOT;
    t.after(async () => {
      await server.kill();
      rmSync(folder, { recursive: true, force: true });
    });
    if (diskMebibytes === undefined) return server;
    const disk = join(folder, 'disk');
    mkdirSync(disk);
    const namespace = await Namespace.create(t, ['user', 'mount'], mount(diskMebibytes, disk));
    server.#inside = [...namespace.words, ...NOT_ROOT];
    server.disk = namespace.root + disk;
    server.data = join(disk, 'data');
    server.files = join(server.disk, 'data');
    return server;
  }

  /** Starts the server, and waits until it accepts connections. */
  async start() {
    const log = openSync(join(this.folder, 'log'), 'a');
    const words = this.#words('postgres', '-D', this.data);
    const child = spawn(words[0], words.slice(1), { stdio: ['ignore', log, log] });
    closeSync(log);
    this.#child = child;
    this.ended = new Promise((resolve) => child.on('close', resolve)).then(() => {
      this.#child = undefined;
    });
    await this.#returns('SELECT 1', '1', `the server ${this.name} accepts connections`);
  }

  /** Resolves when the statement returns `value`. Until then, connections may fail. Rejects if the server has ended. */
  async #returns(statement, value, what) {
    await until(async () => {
      if (this.#child === undefined) throw new Error(`the server ${this.name} has ended: ${this.#lastLines()}`);
      return this.sql(statement).then(
        (returned) => returned === value,
        () => false,
      );
    }, what);
  }

  /** Stops the server. It disconnects all clients. */
  async stop() {
    this.#child.kill('SIGINT');
    await this.ended;
  }

  /** Ends the server at once, as a loss of power does, except that the system keeps unwritten data. */
  async kill() {
    if (this.#child === undefined) return;
    const processes = this.#signalAll('SIGSTOP'); // so that the server starts no further process
    for (const pid of processes) signal(pid, 'SIGKILL');
    await this.ended;
    await until(() => processes.every((pid) => stateOf(pid) === undefined), `the processes of ${this.name} have ended`);
    rmSync(join(this.files, 'postmaster.pid'), { force: true });
  }

  /** Ends the server at once, and deletes its data. */
  async lose() {
    await this.kill();
    rmSync(this.files, { recursive: true, force: true });
  }

  /** Stops the server's processes, so that they do not answer. */
  pause() {
    this.#signalAll('SIGSTOP');
  }

  /** Lets the processes continue after pause(). */
  continue() {
    this.#signalAll('SIGCONT');
  }

  /** Runs statements, and resolves to the values that they return: the columns separated by "|", a row on each line. */
  async sql(text, { user = 'postgres', database = 'postgres' } = {}) {
    const connection = ['--host', this.folder, '--username', user, '--dbname', database];
    const form = ['--no-psqlrc', '--no-align', '--tuples-only', '--quiet', '--set', 'ON_ERROR_STOP=1'];
    const words = [join(PROGRAMS[this.version], 'psql'), ...connection, ...form, '--command', text];
    return (await run(words, { PGCONNECT_TIMEOUT: String(CONNECT_SECONDS) })).trim();
  }

  /** Changes a setting of the running server. Resolves when new connections have it. */
  async set(name, value) {
    await this.sql(`ALTER SYSTEM SET ${name} = '${value}'`);
    await this.sql('SELECT pg_reload_conf()');
    await until(async () => (await this.sql(`SHOW ${name}`)) === value, `${name} is ${value}`);
  }

  /** Makes a standby a primary. */
  async promote() {
    await this.sql('SELECT pg_promote(false)');
    await this.isPrimary();
  }

  /** Resolves when the server is a primary. */
  async isPrimary() {
    await this.#returns('SELECT pg_is_in_recovery()', 'f', `${this.name} is a primary`);
  }

  /** Makes the standby follow `primary`, which the standby must not be ahead of; no server if it is not given. */
  async follow(primary) {
    this.#writeOwnSettings(primary);
    await this.sql('SELECT pg_reload_conf()');
    if (primary === undefined) {
      const looks = 'SELECT count(*) FROM pg_stat_wal_receiver';
      await until(async () => (await this.sql(looks)) === '0', `${this.name} follows no server`);
    } else {
      await primary.hasStandby(this);
    }
  }

  /** Resolves when the standby receives this server's transactions. */
  async hasStandby({ name }) {
    const look = `SELECT count(*) FROM pg_stat_replication WHERE application_name = '${name}' AND state = 'streaming'`;
    await until(async () => (await this.sql(look)) === '1', `${name} follows ${this.name}`);
  }

  /** Deletes the data of a server that does not run, and starts it as a standby with a copy of the data of `primary`. */
  async rebuild(primary) {
    rmSync(this.files, { recursive: true, force: true });
    await this.#copy(primary, this.data);
    await this.#startAsStandbyOf(primary);
  }

  /**
   * Makes an old primary, which does not run, a standby of `primary` again: replaces what differs. Transactions that
   * only the old primary has are lost.
   */
  async rewind(primary) {
    await primary.sql('CHECKPOINT');
    const from = `host=${primary.folder} user=postgres dbname=postgres`;
    await this.#program('pg_rewind', '--target-pgdata', this.data, '--source-server', from, '--no-sync');
    await this.#startAsStandbyOf(primary);
  }

  /** Copies the data of this server, which runs, to the folder `data`. */
  async copyTo(data) {
    await this.#copy(this, data);
  }

  /** How much of the primary's log this standby has. */
  async received() {
    return numberOf(await this.sql('SELECT coalesce(pg_last_wal_receive_lsn(), pg_last_wal_replay_lsn())'));
  }

  /** How much of the primary's log this standby shows to readers. */
  async replayed() {
    return numberOf(await this.sql('SELECT pg_last_wal_replay_lsn()'));
  }

  /** How much this primary has written to its log. */
  async written() {
    return numberOf(await this.sql('SELECT pg_current_wal_lsn()'));
  }

  /** Sends a signal to all processes of the server, the first one first. Returns the processes. */
  #signalAll(name) {
    const { pid } = this.#child;
    signal(pid, name);
    const children = childrenOf(pid);
    for (const child of children) signal(child, name);
    return [pid, ...children];
  }

  /** Copies the data of `server`, which runs, to the folder `data`. */
  async #copy(server, data) {
    const from = ['--host', server.folder, '--username=postgres'];
    await this.#program('pg_basebackup', '--pgdata', data, ...from, '--checkpoint=fast', '--no-sync');
  }

  async #startAsStandbyOf(primary) {
    writeFileSync(join(this.files, 'standby.signal'), '');
    this.#writeOwnSettings(primary);
    await this.start();
    await primary.hasStandby(this);
  }

  /** The settings in which the servers of a cluster differ. */
  #writeOwnSettings(primary, settings = []) {
    const follows = primary
      ? `host=${primary.address ?? primary.folder} user=postgres application_name=${this.name}`
      : '';
    const lines = [
      ...[`listen_addresses = '${this.address ?? ''}'`, `unix_socket_directories = '${this.folder}'`],
      ...[`primary_conninfo = '${follows}'`, ...settings],
    ];
    writeFileSync(join(this.files, 'own.conf'), `${lines.join('\n')}\n`);
  }

  #program(name, ...words) {
    return run(this.#words(name, ...words));
  }

  /** The words of a command that runs one of PostgreSQL's programs. */
  #words(name, ...words) {
    return [...this.#inside, ...ENDS_TOO, join(PROGRAMS[this.version], name), ...words];
  }

  #lastLines() {
    return readFileSync(join(this.folder, 'log'), 'utf8').trim().split('\n').slice(-20).join('\n');
  }
}

/** A backup of a server: a copy of its data, and an archive of its log, which together restore each later state. */
export class PostgresBackup {
  /** Makes empty folders, which end with the test `t`. */
  constructor(t) {
    const folder = mkdtempSync('/tmp/postgres-backup-');
    /** The folder of the copy. */
    this.base = join(folder, 'base');
    /** The folder of the log. */
    this.archive = join(folder, 'archive');
    mkdirSync(this.archive);
    // A server that was restored archives its log too. It ends after this, and can add a file meanwhile.
    t.after(() => rmSync(folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 }));
  }

  /** The lines of postgresql.conf with which a server archives its log. A file gets its name when it is whole. */
  get settings() {
    const file = `${this.archive}/%f`;
    return [
      'archive_mode = on',
      `archive_command = 'test ! -f ${file} && cp %p ${file}.part && mv ${file}.part ${file}'`,
    ];
  }

  /** The lines of postgresql.conf with which a server restores the state at the target, and becomes a primary. */
  settingsOfRestoration(target) {
    return [`restore_command = 'cp ${this.archive}/%f "%p"'`, ...target, "recovery_target_action = 'promote'"];
  }

  /** Copies the data of a server that runs. */
  async take(server) {
    await server.copyTo(this.base);
  }

  /** Resolves when the archive has everything that the server has written until now. */
  async complete(server) {
    const file = await server.sql("SELECT pg_walfile_name(pg_create_restore_point('archived'))");
    await server.sql('SELECT pg_switch_wal()');
    const look = `SELECT coalesce(last_archived_wal >= '${file}', false) FROM pg_stat_archiver`;
    await until(async () => (await server.sql(look)) === 't', `the archive has ${file}`);
  }
}

/** A primary and its standbys. */
export class PostgresCluster {
  /** @type {PostgresServer[]} */
  servers;
  /** @type {PostgresServer} */
  primary;
  /** The servers' setting synchronous_standby_names, if it is not empty. @type {string | undefined} */
  synchronous;

  /**
   * Starts a cluster. It ends with the test `t`.
   * @param {object} t
   * @param {object} [options]
   * @param {15 | 18} [options.version]
   * @param {number} [options.size] the number of servers
   * @param {number} [options.confirmations] the number of standbys that confirm each transaction
   * @param {string[]} [options.settings] lines of postgresql.conf
   * @param {(index: number) => object} [options.placeOf] the place of each server: see PostgresServer.#make
   */
  static async create(t, { version = 15, size = 3, confirmations = 1, settings, placeOf = () => ({}) } = {}) {
    const cluster = new PostgresCluster();
    const names = Array.from({ length: size }, (_, index) => `n${index + 1}`);
    cluster.primary = await PostgresServer.create(t, { version, name: names[0], settings, place: placeOf(0) });
    cluster.servers = [cluster.primary];
    for (const [index, name] of names.entries()) {
      if (index > 0) cluster.servers.push(await PostgresServer.standbyOf(t, cluster.primary, name, placeOf(index)));
    }
    if (confirmations > 0) {
      cluster.synchronous = `ANY ${confirmations} (${names.join(', ')})`;
      for (const server of cluster.servers) await server.set('synchronous_standby_names', cluster.synchronous);
    }
    return cluster;
  }

  /** The addresses of all servers for a config. */
  get hosts() {
    return this.servers.map(({ host }) => host);
  }

  get standbys() {
    return this.servers.filter((server) => server !== this.primary);
  }

  /**
   * Makes the standby that has received most the primary of the others. The old primary must not run or be paused, and
   * stays out of the cluster until rejoin(). All standbys must run, because any of them can have confirmed a
   * transaction.
   */
  async failOver() {
    const { standbys } = this;
    // From now on, no standby confirms a transaction of the old primary.
    for (const standby of standbys) await standby.follow(undefined);
    const received = await Promise.all(standbys.map((standby) => standby.received()));
    const [most] = [...received].sort((a, b) => (a < b ? 1 : -1));
    const chosen = standbys[received.indexOf(most)];
    await chosen.promote();
    const old = this.primary;
    this.primary = chosen;
    for (const standby of standbys) if (standby !== chosen) await standby.follow(chosen);
    return old;
  }

  /** Makes a server that does not run a standby again, with a copy of the data of the primary. */
  async rejoin(server) {
    await server.rebuild(this.primary);
  }

  /** Makes an old primary that does not run a standby again, with its own data, without what only it has. */
  async rewind(server) {
    await server.rewind(this.primary);
  }

  /** Resolves when each standby has all transactions that the primary has now. */
  async isLevel() {
    const written = await this.primary.written();
    for (const standby of this.standbys) {
      await until(async () => (await standby.replayed()) >= written, `${standby.name} has all transactions`);
    }
  }
}
