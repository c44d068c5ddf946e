// A pool between gateways and a PostgreSQL server: PgBouncer, which deploy/install has unpacked.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, mkdtempSync, openSync, rmSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { until } from '../end_to_end/processes.mjs';
import { NOT_ROOT } from './cluster.mjs';

const PROGRAM = join(homedir(), '.cache/stampgate/pgbouncer/pgbouncer');
const SOCKET = '.s.PGSQL.5432';

/** Returns whether a connection to the socket succeeds: the socket is there before it accepts connections. */
async function accepts(socket) {
  const connection = connect(socket);
  try {
    await once(connection, 'connect');
    return true;
  } catch {
    return false;
  } finally {
    connection.destroy();
  }
}

/** A pool. It has the properties of a server to which a Relay can connect. */
export class Pool {
  /** The folder of its socket. @type {string} */
  folder;
  /** Its address for a config. @type {string} */
  host;

  /**
   * Starts a pool before `server`. It ends with the test `t`.
   * @param {object} t
   * @param {import('./cluster.mjs').PostgresServer} server
   * @param {'session' | 'transaction' | 'statement'} mode
   */
  static async create(t, server, mode = 'session') {
    const pool = new Pool();
    pool.folder = mkdtempSync('/tmp/pool-');
    pool.host = `${pool.folder}:5432`;
    const lines = [
      ...['[databases]', `* = host=${server.folder} port=5432 user=postgres`],
      ...['[pgbouncer]', 'listen_port = 5432', `unix_socket_dir = ${pool.folder}`, 'auth_type = any'],
      // Without this line, the pool lets its clients wait for 15 s after the server has refused a connection.
      ...[`pool_mode = ${mode}`, 'default_pool_size = 100', 'server_login_retry = 1'],
    ];
    const config = join(pool.folder, 'pool.ini');
    writeFileSync(config, `${lines.join('\n')}\n`);
    const log = openSync(join(pool.folder, 'log'), 'a');
    const words = [
      ...(process.getuid() === 0 ? NOT_ROOT : []),
      'setpriv',
      '--pdeathsig',
      'KILL',
      '--',
      PROGRAM,
      config,
    ];
    const child = spawn(words[0], words.slice(1), { stdio: ['ignore', log, log] });
    closeSync(log);
    const ended = new Promise((resolve) => child.on('close', resolve));
    t.after(async () => {
      child.kill('SIGKILL');
      await ended;
      rmSync(pool.folder, { recursive: true, force: true });
    });
    await until(() => accepts(join(pool.folder, SOCKET)), 'the pool accepts connections');
    return pool;
  }
}
