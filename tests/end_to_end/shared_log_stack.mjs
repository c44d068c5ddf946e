// Starts several gateways that share an event log on a PostgreSQL server.
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { startSimulator } from '../simulator/server.mjs';
import { ADMIN } from './admin_port.mjs';
import { Gateway, WEBHOOK_PATH, freeCaller, run, scratch, writeKey } from './harness.mjs';
import { startFaults } from './log_lines.mjs';

/** Creates a key of the store in `folder` with `stampgate store keygen`. */
export async function writeStoreKey(folder, name = 'store.key') {
  const file = join(folder, name);
  const { status, stderr } = await run(['store', 'keygen', '--out', file]);
  assert.equal(status, 0, stderr);
  return file;
}

export class SharedLogStack {
  /** @type {string} */
  folder;
  /** @type {import('../simulator/server.mjs').Simulator} */
  simulator;
  /** Members of the config. @type {object} */
  more;
  /** The config's `store.postgresql`. @type {object} */
  store;
  /** The file of the API key. @type {string} */
  key;
  /** The gateways that start() has started. @type {Gateway[]} */
  gateways = [];
  /** The program of the next gateways and commands, by default that of this tree. @type {string | undefined} */
  program;
  #stopped = new Set();

  /**
   * Starts a simulator, and makes a config for gateways. Starts no gateway. Everything ends with the test `t`.
   * @param {object} t
   * @param {{hosts: string[]} & object} store the config's `store.postgresql`; merged over the usual one
   * @param {{simulator?: object, config?: object}} [more] the options of the simulator, and members of the config
   */
  static async prepare(t, store, { simulator, config } = {}) {
    const stack = new SharedLogStack();
    const folder = scratch(t);
    stack.folder = folder;
    stack.simulator = await startSimulator(simulator);
    stack.more = config;
    stack.store = {
      ...{ database: 'postgres', user: 'postgres', plaintext: true, key_file: await writeStoreKey(folder) },
      ...store,
    };
    stack.key = writeKey(folder);
    t.after(() => stack.#end());
    return stack;
  }

  /** The config of a gateway. `store` is merged over the config's `store.postgresql`. */
  config(store) {
    return {
      listen_address: '127.0.0.1:0',
      upstream: { base_url: this.simulator.url },
      keys: [{ name: 'main', file: this.key, all_organizations: true }],
      callers: freeCaller(),
      admin: ADMIN,
      store: { postgresql: { ...this.store, ...store } },
      webhooks: { listen_address: '127.0.0.1:0', paths: [WEBHOOK_PATH], min_key_set_interval: '100ms' },
      ...this.more,
    };
  }

  /**
   * Starts a gateway.
   * @param {object} [store] merged over the config's `store.postgresql`
   * @param {{env?: object}} [options] `env` is merged over the environment
   */
  async start(store, { env } = {}) {
    const gateway = await Gateway.start(this.config(store), { folder: this.folder, command: this.program, env });
    this.gateways.push(gateway);
    return gateway;
  }

  /** The message of a gateway that does not start. */
  async startFault(store) {
    const file = join(this.folder, 'fault.yaml');
    writeFileSync(file, JSON.stringify(this.config(store)));
    const { status, stderr } = await run(['serve', '--config', file], { command: this.program });
    assert.equal(status, 1, stderr);
    const faults = startFaults(stderr);
    assert.equal(faults.length, 1, stderr);
    return faults[0];
  }

  /** Runs `stampgate store COMMAND` with the config of a gateway. */
  command(command, store, ...more) {
    const file = join(this.folder, 'command.yaml');
    writeFileSync(file, JSON.stringify(this.config(store)));
    return run(['store', command, '--config', file, ...more], { command: this.program });
  }

  /** Ends a gateway at once. */
  async kill(gateway) {
    gateway.isKilled = true;
    assert.deepEqual(await gateway.stop('SIGKILL'), { status: null, signal: 'SIGKILL' });
  }

  /** Ends a gateway, which completes its calls. */
  async stop(gateway) {
    this.#stopped.add(gateway);
    assert.deepEqual(await gateway.stop(), { status: 0, signal: null }, gateway.output);
  }

  async #end() {
    const left = this.gateways.filter((gateway) => !gateway.isKilled && !this.#stopped.has(gateway));
    const endings = await Promise.all(left.map((gateway) => gateway.stop()));
    await this.simulator.close();
    endings.forEach(({ status }, index) => assert.equal(status, 0, left[index].output));
  }
}
