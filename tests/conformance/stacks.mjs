// The stacks that cases need: a simulator, and a gateway in front of it.
import { createHash, generateKeyPairSync, sign } from 'node:crypto';
import { readFileSync, renameSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { ADMIN } from '../end_to_end/admin_port.mjs';
import { makeAuthority } from '../end_to_end/certificates.mjs';
import { startEventStack } from '../end_to_end/event_stack.mjs';
import { WITHOUT_RETRIES, freeCaller, scratch } from '../end_to_end/harness.mjs';
import { reconfigure } from '../end_to_end/policy_callers.mjs';
import { Machine } from '../machine/machine.mjs';
import { Envoy } from './envoy.mjs';
import { Proxy } from './proxy.mjs';

/** How long a token of the issuer is valid. The gateway accepts it for half a minute more. */
const TOKEN_MS = 3_600_000;
const LEEWAY_MS = 30_000;
const ISSUER = 'https://issuer.example';
const AUDIENCE = 'stampgate';

/** The settings of every stack. Cases cause one fault at a time, which the gateway's own retries would hide. */
const USUAL = {
  class_grants_as_of: '2026-10-30',
  admin: ADMIN,
  admission: WITHOUT_RETRIES,
  activities: { poll_interval: '100ms', max_poll_interval: '1s', max_polls_per_second: 200 },
};

/**
 * @typedef {object} Changes what a case changes in its stack
 * @property {object} [config] merged over the config at its top level
 * @property {object} [events] the config's section `events`
 */

/** Plaintext, with one caller that may make every call. */
const plain = (t, /** @type {Changes} */ { config, events }, more = {}) =>
  startEventStack(t, { events, config: { ...USUAL, callers: freeCaller(), ...config }, ...more });

/** As `plain`, on a machine whose disk can hang. */
async function onMachine(t, changes) {
  const folder = scratch(t);
  const machine = new Machine(scratch(t), folder);
  t.after(() => machine.release());
  const stack = await plain(t, changes, { folder, env: machine.env });
  t.after(() => machine.close());
  return Object.assign(stack, { machine });
}

/** As `plain`, with an Envoy, to which the driver connects, and a proxy between Envoy and the gateway. */
async function throughEnvoy(t, changes) {
  const stack = await plain(t, changes);
  const proxy = await Proxy.start(() => stack.gateway.address);
  t.after(() => proxy.close());
  const envoy = await Envoy.start(proxy.address, stack.folder);
  t.after(() => envoy.stop());
  return Object.assign(stack, { envoy, proxy });
}

let links = 0;
/** Replaces a file in one step, as Kubernetes and certificate managers do. */
function replace(file, content) {
  const target = `${file}.${(links += 1)}`;
  writeFileSync(target, content, { mode: 0o600 });
  symlinkSync(target, `${file}.link`);
  renameSync(`${file}.link`, file);
}

/**
 * TLS in both directions. The stack's `tls` has the files of the driver. A stack with more gives `more`.
 * @param {object} t
 * @param {Changes} changes
 * @param {{config?: object, env?: object}} [more]
 */
async function tls(t, { config, events }, more = {}) {
  const folder = scratch(t);
  const place = (name) => join(folder, name);
  const servers = makeAuthority(folder, 'servers');
  const clients = makeAuthority(folder, 'clients');
  const strangers = makeAuthority(folder, 'strangers');
  const server = servers.issue();
  const files = {
    certificate_file: place('tls.crt'),
    private_key_file: place('tls.key'),
    client_ca_file: clients.file,
  };
  writeFileSync(files.certificate_file, server.cert);
  writeFileSync(files.private_key_file, server.key, { mode: 0o600 });
  const [{ grants }] = freeCaller();
  const callers = [
    { name: 'first', dns_names: ['first.example'], grants },
    { name: 'second', dns_names: ['second.example'], grants },
  ];
  const whole = { ...USUAL, tls: files, callers, ...more.config, ...config };
  const stack = await startEventStack(t, { events, config: whole, folder, env: more.env });
  const own = { ca: place('driver-ca.crt'), certificate: place('driver.crt'), key: place('driver.key') };
  const issuers = { first: clients, second: clients, stranger: strangers };
  return Object.assign(stack, {
    tls: own,
    /** Gives the driver a new certificate of this name, whose issuer is a stranger for the name "stranger". */
    certify(name) {
      const { cert, key } = issuers[name].issue({ name: `DNS:${name}.example`, usage: 'clientAuth' });
      replace(own.key, key);
      replace(own.certificate, cert);
    },
    /** Makes the driver trust the issuer of the gateway's certificate, or another one. */
    trust(isRight) {
      replace(own.ca, readFileSync((isRight ? servers : strangers).file));
    },
  });
}

const base64url = (value) =>
  Buffer.from(typeof value === 'string' ? value : JSON.stringify(value)).toString('base64url');
const sha256 = (value) => createHash('sha256').update(value).digest('hex');

/**
 * TLS and bearer tokens. The gateway's clock is the case's. The stack's `tokenFile` is the file of the driver.
 * @param {object} t
 * @param {Changes} changes
 */
async function tokens(t, changes) {
  const folder = scratch(t);
  const machine = new Machine(scratch(t), folder);
  t.after(() => machine.close());
  const key = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const keySet = join(folder, 'keys.json');
  const jwk = { ...key.publicKey.export({ format: 'jwk' }), kid: 'key', use: 'sig', alg: 'ES256' };
  writeFileSync(keySet, JSON.stringify({ keys: [jwk] }));
  const [{ grants }] = freeCaller();
  const subjects = { issuer: 'main', subjects: ['driver'] };
  const named = { dns_names: ['first.example'], grants };
  const callersWith = (texts) => [
    { name: 'issued', ...named, token: subjects },
    { name: 'static', ...named, token_sha256: texts.map(sha256) },
  ];
  const token_issuers = [{ name: 'main', issuer: ISSUER, audiences: [AUDIENCE], jwks_file: keySet }];
  const config = { token_issuers, callers: callersWith(['first token']) };
  const stack = await tls(t, changes, { config, env: machine.env });
  const tokenFile = join(folder, 'token');
  return Object.assign(stack, {
    tokenFile,
    /** Writes a text to the driver's token file. */
    writeToken: (content) => replace(tokenFile, `${content}\n`),
    /** Writes a token of the issuer, valid from the gateway's present, to the driver's token file. */
    issueToken() {
      const now = Math.floor(machine.nowMs() / 1000);
      const claims = { iss: ISSUER, aud: AUDIENCE, sub: 'driver', iat: now, exp: now + TOKEN_MS / 1000 };
      const content = `${base64url({ alg: 'ES256', kid: 'key' })}.${base64url(claims)}`;
      const signature = sign('sha256', Buffer.from(content), { key: key.privateKey, dsaEncoding: 'ieee-p1363' });
      replace(tokenFile, `${content}.${signature.toString('base64url')}\n`);
    },
    /** Makes the gateway accept this static token, and no longer the earlier one. */
    acceptToken: (content) => reconfigure(stack.gateway, { callers: callersWith([content]) }),
    /** Makes the issued token expire. */
    expire() {
      machine.clockOffsetMs += TOKEN_MS + LEEWAY_MS + 1000;
      stack.simulator.change({ clockOffsetMs: machine.clockOffsetMs });
    },
  });
}

/** Tasks that end with something, in the order in which they were added. */
export class Ending {
  #tasks = [];
  after = (task) => this.#tasks.push(task);

  async end() {
    for (const task of this.#tasks.splice(0)) await task();
  }
}

const STACKS = { plain, machine: onMachine, envoy: throughEnvoy, tls, tokens };

/**
 * Starts a stack. It ends with `t`.
 * @param {{after: (task: () => any) => void}} t
 * @param {string} name
 * @param {Changes} changes
 * @returns {Promise<any>}
 */
export const startStack = (t, name, changes) => STACKS[name](t, changes);
