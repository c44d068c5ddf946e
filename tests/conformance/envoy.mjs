// An Envoy between a driver and the gateway, with the config envoy/envoy.yaml.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { installed, root } from '../paths.mjs';

/** Why no Envoy can run on this machine; undefined if one can. */
export const noEnvoy = process.arch === 'x64' ? undefined : `there is no Envoy for ${process.arch}`;

const folder = 'tests/conformance/envoy';

/** Returns a port on which nothing listens now. */
async function freePort() {
  const server = createServer();
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const { port } = /** @type {import('node:net').AddressInfo} */ (server.address());
  await new Promise((resolve) => server.close(resolve));
  return port;
}

export class Envoy {
  /** @type {string} */
  address;
  #file;
  #child;
  #exited;

  /**
   * Starts an Envoy in front of the gateway with this address.
   * @param {string} gateway
   * @param {string} scratch a folder for its config
   */
  static async start(gateway, scratch) {
    const envoy = new Envoy();
    envoy.address = `127.0.0.1:${await freePort()}`;
    envoy.#file = join(scratch, 'envoy.yaml');
    const portOf = (address) => `port_value: ${address.split(':')[1]}`;
    const config = readFileSync(join(root, folder, 'envoy.yaml'), 'utf8')
      .replace('port_value: 7444', portOf(envoy.address))
      .replace('port_value: 7443', portOf(gateway));
    writeFileSync(envoy.#file, config);
    await envoy.run();
    return envoy;
  }

  /** Starts the process, also again after a kill, with the same address. */
  async run() {
    const program = join(installed('envoy', `${folder}/requirements.txt`), 'envoy/_bin/envoy');
    const options = ['--config-path', this.#file, '--concurrency', '1', '--disable-hot-restart'];
    const child = spawn(program, options, { stdio: ['ignore', 'ignore', 'pipe'] });
    this.#child = child;
    let output = '';
    await new Promise((resolve, reject) => {
      child.stderr.on('data', (data) => (output += data).includes('starting workers') && resolve(undefined));
      this.#exited = once(child, 'close');
      this.#exited.then(([status]) => reject(new Error(`Envoy ended with ${status}: ${output}`)), reject);
    });
  }

  /** @param {NodeJS.Signals} [signal] */
  async stop(signal = 'SIGTERM') {
    this.#child.kill(signal);
    await this.#exited;
  }
}
