// Starts the real gateway in front of a simulator, for one test or one file of tests.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { mkdtempSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { call, connect, stream } from '../clients/gateway.mjs';
import { binary } from '../paths.mjs';
import { startSimulator } from '../simulator/server.mjs';
import { apiKeyNamed } from '../simulator/testing.mjs';

const stampgate = binary('gateway/stampgate');

/** The time limit of each test and each wait. Even with a sanitizer, none of them needs a tenth of this time. */
export const HANG_MS = 60_000;

/** Creates a folder that is removed when the test `t` has ended. */
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

/**
 * Runs the program until it exits.
 * @param {string[]} args
 * @param {object} [options]
 * @param {string} [options.command] another program
 * @param {string | Buffer} [options.input] its standard input
 * @param {NodeJS.ProcessEnv} [options.env] its environment, by default that of this process
 * @param {number} [options.hangMs] after this time, it is killed
 * @returns {Promise<{status: number | null, signal: string | null, stdout: string, stderr: string}>}
 */
export function run(args, { command = stampgate, input = '', env, hangMs = HANG_MS } = {}) {
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, { stdio: ['pipe', 'pipe', 'pipe'], env });
    const output = { stdout: '', stderr: '' };
    for (const name of ['stdout', 'stderr']) child[name].on('data', (data) => (output[name] += data));
    const hang = setTimeout(() => child.kill('SIGKILL'), hangMs);
    child.on('error', reject);
    child.on('close', (status, signal) => {
      clearTimeout(hang);
      resolve({ status, signal, ...output });
    });
    // The program may exit before it has read its input.
    child.stdin.on('error', (/** @type {NodeJS.ErrnoException} */ error) => error.code === 'EPIPE' || reject(error));
    child.stdin.end(input);
  });
}

/** Operations that the tests' callers may send through GeneralService. */
const GENERAL_OPERATIONS = [
  ...['whoami', 'list_earn_positions', 'get_earn_withdraw_status', 'not_yet_known', 'query_of_next_year'].map(
    (path) => ({ path }),
  ),
  ...[
    'init_otp',
    'otp_login',
    'login_with_oauth',
    'create_sub_organization',
    'not_yet_known',
    'operation_of_next_year',
  ].flatMap((path) =>
    ['', '_V2', '_V3', '_V8'].map((version) => ({
      path,
      activity_type: `ACTIVITY_TYPE_${path.toUpperCase()}${version}`,
    })),
  ),
];

let configs = 0;

/**
 * Makes `file` a link to a new file with this text, as Kubernetes changes a volume. A gateway reads the new file
 * without waiting until it has settled.
 */
export function putConfig(file, text) {
  const target = `${file}.${(configs += 1)}`;
  writeFileSync(target, text);
  symlinkSync(target, `${file}.link`);
  renameSync(`${file}.link`, file);
}

/** The day of the newest operations. */
const NEWEST_DAY = '2026-10-30';

/**
 * The callers of most tests: the loopback caller, which may make every call except those of internal operations, and the
 * calls of the general operations `more`.
 */
export const freeCaller = (...more) => [
  {
    name: 'loopback',
    loopback: true,
    grants: [
      {
        classes: ['query', 'login', 'write', 'dangerous', 'events'],
        general_operations: [...GENERAL_OPERATIONS, ...more],
        all_organizations: true,
        dangerous_fields: ['delete_without_export'],
      },
    ],
  },
];

/** The names of all fields that a grant must name before a request can use them. */
export const ALL_DANGEROUS_FIELDS = [
  'delete_without_export',
  'debug_mode',
  'enable_debug_mode_deployments',
  'external_signer_pubkey',
  'external_signer_wrapping_key_id',
  'qos_manifest',
];

/** A grant of these methods by their names, because classes do not cover internal methods. */
export const grantOf = (methods) => ({
  methods,
  all_organizations: true,
  dangerous_fields: ALL_DANGEROUS_FIELDS,
});

/** The webhook path in tests. */
export const WEBHOOK_PATH = '/hooks/0123456789abcdefghijklmn';

/**
 * The config of a gateway that receives webhooks and has its event log in `folder`.
 * @param {string} folder
 * @param {{events?: object, webhooks?: object}} [sections] merged over the usual ones
 */
export const eventsConfig = (folder, { events, webhooks } = {}) => ({
  store: { sqlite: { folder } },
  events: { ...events },
  webhooks: { listen_address: '127.0.0.1:0', paths: [WEBHOOK_PATH], min_key_set_interval: '100ms', ...webhooks },
});

/** The section `audit` of a config. Creates the key in `folder` with `stampgate audit keygen`. */
export async function auditConfig(folder, file = join(folder, 'audit.log')) {
  const key = join(folder, 'audit.key');
  const { status, stderr } = await run(['audit', 'keygen', '--out', key]);
  if (status !== 0) throw new Error(stderr);
  return { file, key_file: key };
}

/**
 * A config file: its sections and settings by their names.
 * @typedef {Record<string, any>} Config
 */

/** A running gateway. */
export class Gateway {
  /** The config with which it was started. @type {Config} */
  config;
  /** The file of the config. @type {string} */
  configFile;
  /** What it has logged. @type {string} */
  output;
  /** @type {import('node:child_process').ChildProcess} */
  child;
  /** Resolves when the process has ended. @type {Promise<{status: number | null, signal: string | null}>} */
  exited;
  /** @type {string} */
  address;
  /** A channel to the gateway. @type {ReturnType<typeof connect>} */
  client;
  /** The URL for deliveries, with the path. @type {string | undefined} */
  webhookUrl;
  /** The URL of the admin port. @type {string | undefined} */
  adminUrl;
  /** Whether a test has killed it. */
  isKilled = false;

  /**
   * Starts a gateway. `config` is written to a file in `folder` as JSON, which is YAML. If `configFile` is given, this
   * file already contains the config.
   * @param {Config} config
   * @param {object} options
   * @param {string} [options.folder]
   * @param {string} [options.command] the program, by default that of this tree
   * @param {object} [options.env] merged over the environment
   * @param {string} [options.configFile]
   */
  static async start(config, { folder, command = stampgate, env = {}, configFile }) {
    const file = configFile ?? join(folder, `config-${Math.random().toString(36).slice(2)}.yaml`);
    if (configFile === undefined) putConfig(file, JSON.stringify(config, null, 1));
    const gateway = new Gateway();
    gateway.config = config;
    gateway.configFile = file;
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
        const [, url] = /^webhooks on (.*)$/.exec(line) ?? [];
        if (url) gateway.webhookUrl = url + WEBHOOK_PATH;
        const [, adminUrl] = /^admin on (.*)$/.exec(line) ?? [];
        if (adminUrl) gateway.adminUrl = adminUrl;
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

  /** The messages of a streaming call; see stream() of gateway.mjs. */
  stream(method, request, options) {
    return stream(this.client, method, request, options);
  }

  /** The error of a call. If the call succeeds, the test fails. */
  async refusal(method, request, options) {
    try {
      await this.call(method, request, options);
    } catch (error) {
      return error;
    }
    throw new Error(`${method} was answered`);
  }

  /**
   * Ends the process and resolves to its exit status and signal.
   * @param {NodeJS.Signals} [signal]
   */
  async stop(signal = 'SIGTERM') {
    this.client.close();
    this.child.kill(signal);
    const hang = setTimeout(() => this.child.kill('SIGKILL'), HANG_MS);
    const ending = await this.exited;
    clearTimeout(hang);
    return ending;
  }
}

/** The config of a gateway whose upstream listens at `url`, and which has only what most gateways of the tests need. */
export const plainConfig = (
  { url },
  folder,
  keys = [{ name: 'main', file: writeKey(folder), all_organizations: true }],
) => ({ listen_address: '127.0.0.1:0', upstream: { base_url: url }, keys, callers: freeCaller() });

/**
 * The config without retries and without the circuit breaker. Most tests cause one fault and observe its effect, which a
 * retry would hide. The tests of retries use the gateway's defaults instead.
 */
export const WITHOUT_RETRIES = { retries: false, breaker: false };

/**
 * Starts a gateway whose upstream listens at `url`. The gateway ends with the test `t`.
 * @param {object} t a test context, or `{after}` of a file
 * @param {{url: string}} upstream
 * @param {Config} [config] merged over the usual config at its top level
 * @param {{upstream?: object, folder?: string, command?: string, env?: object}} [options] `upstream` is merged over the
 *     config's, `env` over the environment
 */
export async function startGateway(t, { url }, config = {}, { upstream, folder = scratch(t), command, env } = {}) {
  const plain = plainConfig({ url }, folder, config.keys);
  const whole = {
    ...plain,
    upstream: { ...plain.upstream, ...upstream },
    class_grants_as_of: NEWEST_DAY,
    admission: WITHOUT_RETRIES,
    ...config,
  };
  const gateway = await Gateway.start(whole, { folder, command, env });
  t.after(async () => {
    const { status, signal } = await gateway.stop();
    if (status !== 0) throw new Error(`the gateway ended with ${status ?? signal}: ${gateway.output}`);
  });
  return gateway;
}

/**
 * Starts a simulator in this process and a gateway in front of it; both end with the test `t`.
 * @param {object} t a test context, or `{after}` of a file
 * @param {object} [options]
 * @param {object} [options.simulator] for startSimulator()
 * @param {object} [options.config] merged over the config at its top level
 * @param {object} [options.upstream] merged over the config's upstream
 * @param {string} [options.command] another binary
 * @param {object} [options.env] merged over the environment
 * @param {boolean | object} [options.events] if set, the simulator sends the events of all organizations to the
 *     gateway. An object is passed to eventsConfig()
 */
export async function startStack(t, { simulator: simulatorOptions, config, upstream, command, env, events } = {}) {
  const folder = scratch(t);
  const simulator = await startSimulator(simulatorOptions);
  t.after(() => simulator.close());
  const whole = { ...(events && eventsConfig(folder, events === true ? {} : events)), ...config };
  const gateway = await startGateway(t, simulator, whole, { upstream, folder, command, env });
  if (gateway.webhookUrl) simulator.webhooks.setEndpoints(null, [gateway.webhookUrl]);
  return { simulator, gateway, folder };
}
