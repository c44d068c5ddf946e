// Namespaces of Linux, which a process of this file keeps. They end with this process, also if a signal ends it.
import { spawn, spawnSync } from 'node:child_process';

/** Namespaces. */
export class Namespace {
  /** The process that keeps them. @type {number} */
  pid;
  /** The root of the mount namespace, for this process. @type {string} */
  root;
  /** The words before a command that runs in the namespaces. @type {string[]} */
  words;

  /**
   * Creates namespaces, which end with the test `t`. Resolves when `script` has run there. Rejects with its errors.
   * @param {object} t
   * @param {('user' | 'mount' | 'net')[]} kinds in a user namespace, the script has the rights of root there
   * @param {string} script a script of sh
   */
  static async create(t, kinds, script = '') {
    const namespace = new Namespace();
    const flags = kinds.map((kind) => (kind === 'user' ? '--map-root-user' : `--${kind}`));
    const words = [...flags, '--', 'sh', '-c', `set -e\n${script}\necho ready\nexec cat`];
    const child = spawn('unshare', words, { stdio: ['pipe', 'pipe', 'pipe'] });
    const ended = new Promise((resolve) => child.once('close', resolve));
    // `cat` ends with this process, which keeps the other end of the pipe.
    t.after(() => (child.kill('SIGKILL'), ended));
    let errors = '';
    child.stderr.on('data', (data) => (errors += data));
    await new Promise((resolve, reject) => {
      child.once('error', reject);
      child.stdout.once('data', resolve);
      child.once('close', () => reject(new Error(errors.trim())));
    });
    const enter = kinds.map((kind) => (kind === 'user' ? '--preserve-credentials' : `--${kind}`));
    namespace.pid = child.pid;
    namespace.root = `/proc/${child.pid}/root`;
    namespace.words = [
      'nsenter',
      '--target',
      `${child.pid}`,
      ...(kinds.includes('user') ? ['--user'] : []),
      ...enter,
      '--',
    ];
    return namespace;
  }

  /** Runs a script of sh in the namespaces. */
  run(script) {
    const [program, ...words] = [...this.words, 'sh', '-c', script];
    const { status, stderr, error } = spawnSync(program, words, { encoding: 'utf8' });
    if (status !== 0) throw error ?? new Error(`${script} exited with ${status}: ${stderr}`);
  }
}
