#!/usr/bin/env node
// The command line of the simulator.
import { readFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { curveNames } from './keys.mjs';
import { readFixture, startSimulator } from './server.mjs';

const HELP = `Replaces the key-management service in tests.

usage: simulator.mjs [options]
  --port N                  the port to listen on; 0 (the default) chooses a free port
  --host ADDRESS            a loopback address (127.0.0.1)
  --tls-cert F --tls-key F  serve HTTPS with this certificate and key, PEM files
  --operator NAME           upstream's name, which is a part of header and member names (service)
  --fixture F               the service's initial state (fixture.json beside this file)
  --timestamps KIND         the form of an activity's times: object (the default) or string
  --references KIND         checked (the default), or any: identifiers need not be known
  --keep-alive-ms N         how long an idle connection stays open (60000)
  --public-key HEX:CURVE    registers one more API key; may be repeated. Curves: ${curveNames.join(', ')}
  --webhook URL             sends the events of all organizations to this URL; may be repeated
  --webhook-ca F            a PEM file of the authorities to trust at these URLs, instead of the system's
  --help                    prints this

Prints "listening on URL" when it is ready. README.md beside this file describes the control interface.
`;

const string = /** @type {const} */ ({ type: 'string' });
const strings = /** @type {const} */ ({ type: 'string', multiple: true });

function readOptions(args) {
  const { values } = parseArgs({
    args,
    options: {
      port: { ...string, default: '0' },
      host: string,
      'tls-cert': string,
      'tls-key': string,
      operator: string,
      fixture: string,
      timestamps: string,
      references: string,
      'keep-alive-ms': string,
      'public-key': { ...strings, default: [] },
      webhook: { ...strings, default: [] },
      'webhook-ca': string,
      help: { type: 'boolean', default: false },
    },
  });
  if (values.help) return undefined;
  if ((values['tls-cert'] === undefined) !== (values['tls-key'] === undefined)) {
    throw new Error('--tls-cert and --tls-key go together');
  }
  return {
    port: number('--port', values.port),
    host: values.host,
    tls: values['tls-cert'] && { cert: readFileSync(values['tls-cert']), key: readFileSync(values['tls-key']) },
    operator: values.operator,
    fixture: values.fixture && readFixture(values.fixture),
    timestamps: values.timestamps,
    references: values.references,
    keepAliveMs: values['keep-alive-ms'] && number('--keep-alive-ms', values['keep-alive-ms']),
    publicKeys: values['public-key'].map(readPublicKey),
    webhooks: { urls: values.webhook, ca: values['webhook-ca'] && readFileSync(values['webhook-ca']) },
  };
}

function number(option, text) {
  if (!/^[0-9]{1,9}$/.test(text)) throw new Error(`${option} must be a number`);
  return Number(text);
}

function readPublicKey(text) {
  const [publicKey, curve, ...more] = text.split(':');
  if (curve === undefined || more.length > 0) throw new Error('--public-key must be HEX:CURVE');
  return { publicKey, curve };
}

async function main() {
  const options = readOptions(process.argv.slice(2));
  if (options === undefined) return void process.stdout.write(HELP);
  const simulator = await startSimulator(options);
  for (const signal of ['SIGTERM', 'SIGINT']) {
    process.once(signal, () => simulator.close().then(() => process.exit(0)));
  }
  process.stdout.write(`listening on ${simulator.url}\n`);
}

main().catch((error) => {
  process.stderr.write(`simulator: ${error.message}\n`);
  process.exitCode = 2;
});
