// Starts the real gateway in front of a simulator, for one test or one file of tests.
import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { call, connect } from '../clients/gateway.mjs';
import { startSimulator } from '../simulator/server.mjs';
import { apiKeyNamed } from '../simulator/testing.mjs';

const root = join(dirname(fileURLToPath(import.meta.url)), '..', '..');

/** A binary that tests/run has built. */
export const binary = (target) => join(root, 'bazel-bin', target);

const stampgate = binary('gateway/stampgate');

/** Nothing here takes a tenth of this, a sanitizer included. */
export const HANG_MS = 60_000;

/** A folder that is removed when the test `t` has ended. */
export function scratch(t) {
  const folder = mkdtempSync(join(tmpdir(), 'stampgate-test-'));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

/** Writes a key file that the gateway accepts. */
export function writeKey(folder, { privateKey, curve } = apiKeyNamed('gateway p256'), name = 'gateway.key') {
  const path = join(folder, name);
  writeFileSync(path, `${privateKey}:${curve}\n`, { mode: 0o600 });
  return path;
}

/** Runs the program to its end. */
export function run(args, { command = stampgate, input = '' } = {}) {
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, { stdio: ['pipe', 'pipe', 'pipe'] });
    const output = { stdout: '', stderr: '' };
    for (const name of ['stdout', 'stderr']) child[name].on('data', (data) => (output[name] += data));
    child.on('error', reject);
    child.on('close', (status, signal) => resolve({ status, signal, ...output }));
    child.stdin.end(input);
  });
}

/**
 * A running gateway.
 * @property {string} address
 * @property {object} client a channel to it
 */
export class Gateway {
  /** `config` is the YAML file as an object: JSON is YAML. */
  static async start(config, { folder, command = stampgate, env = {} }) {
    const file = join(folder, `config-${Math.random().toString(36).slice(2)}.yaml`);
    writeFileSync(file, JSON.stringify(config, null, 1));
    const gateway = new Gateway();
    gateway.output = '';
    gateway.child = spawn(command, ['serve', '--config', file], {
      stdio: ['ignore', 'pipe', 'pipe'],
      env: { ...process.env, ...env },
    });
    gateway.exited = new Promise((resolve) => {
      gateway.child.on('close', (status, signal) => resolve({ status, signal }));
    });
    gateway.child.stderr.on('data', (data) => (gateway.output += data));
    const lines = createInterface({ input: gateway.child.stdout });
    gateway.address = await new Promise((resolve, reject) => {
      lines.on('line', (line) => {
        const [, address] = /^listening on (.*)$/.exec(line) ?? [];
        if (address) resolve(address);
      });
      gateway.exited.then(({ status }) => reject(new Error(`the gateway exited with ${status}: ${gateway.output}`)));
    });
    gateway.client = connect(gateway.address);
    return gateway;
  }

  /** Calls "Service/Method"; see call() of gateway.mjs. */
  call(method, request, options) {
    return call(this.client, method, request, options);
  }

  /** The error that a call ends with; an OK response is a failure of the test. */
  async refusal(method, request, options) {
    try {
      await this.call(method, request, options);
    } catch (error) {
      return error;
    }
    throw new Error(`${method} was answered`);
  }

  /** Ends the process and resolves to its exit status. */
  async stop(signal = 'SIGTERM') {
    this.client.close();
    this.child.kill(signal);
    return this.exited;
  }
}

/**
 * Starts a simulator in this process and a gateway in front of it; both end with the test `t`.
 * @param {object} t a test context, or `{after}` of a file
 * @param {object} [options]
 * @param {object} [options.simulator] for startSimulator()
 * @param {object} [options.config] merged over the config at its top level
 * @param {object} [options.upstream] merged over the config's upstream
 * @param {string} [options.command] another binary
 */
export async function startStack(t, options = {}) {
  const folder = scratch(t);
  const simulator = await startSimulator(options.simulator);
  t.after(() => simulator.close());
  const config = {
    listen_address: '127.0.0.1:0',
    upstream: { base_url: simulator.url, ...options.upstream },
    keys: [{ name: 'main', file: writeKey(folder), all_organizations: true }],
    ...options.config,
  };
  const gateway = await Gateway.start(config, { folder, command: options.command });
  t.after(() => gateway.stop());
  return { simulator, gateway, folder, config };
}
