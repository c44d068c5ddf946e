// Helpers for tests of the simulator: an HTTP client that sends exactly the given bytes, a stamper, and a server that
// receives webhooks.
import { execFileSync } from 'node:child_process';
import { createECDH, createHash, createPrivateKey, sign } from 'node:crypto';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import http from 'node:http';
import https from 'node:https';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { headerPairs } from './headers.mjs';
import { readFixture } from './server.mjs';
import { Waiters } from './waiters.mjs';

export const ORGANIZATION = '11111111-2222-4333-8444-555555555555';
export const END_USER = '99999999-8888-4777-8666-555555555555';
export const subOrganization = (number) => `22222222-0000-4000-8000-${String(number).padStart(12, '0')}`;
/** An identifier of the fixture. These identifiers differ only in their last digits. */
export const identifier = (number) => `aaaaaaaa-bbbb-4ccc-8ddd-${String(number).padStart(12, '0')}`;

/** An activity of the end user that waits for one more approval; for the member `openActivities` of a fixture. */
export const OPEN_ACTIVITY = {
  activityId: identifier(20),
  organizationId: ORGANIZATION,
  userId: END_USER,
  publicKey: '02678ca7810395bc11428b60c62c325b3300ec28ed0fa3b5f1bb6f8a7670b8c03a',
  fingerprint: `sha256:${'ab'.repeat(32)}`,
  operation: 'create_policies',
  parameters: { policies: [{ policyName: 'waits for a vote', effect: 'EFFECT_ALLOW', notes: '' }] },
  approvals: 2,
};

export function readVectors(name) {
  return JSON.parse(readFileSync(new URL(`../vectors/${name}`, import.meta.url), 'utf8'));
}

/** A self-signed certificate for loopback, and its key, both as PEM. */
export function selfSigned() {
  const folder = mkdtempSync(join(tmpdir(), 'simulator-'));
  const [cert, key] = [join(folder, 'cert.pem'), join(folder, 'key.pem')];
  const made = ['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-days', '1'];
  const names = ['-subj', '/CN=localhost', '-addext', 'subjectAltName=IP:127.0.0.1'];
  execFileSync('openssl', [...made, ...names, '-out', cert, '-keyout', key], { stdio: 'ignore' });
  const pair = { cert: readFileSync(cert), key: readFileSync(key) };
  rmSync(folder, { recursive: true });
  return pair;
}

/** The fixture's API key with that name. */
export function apiKeyNamed(name) {
  const key = readFixture()
    .users.flatMap((user) => user.apiKeys ?? [])
    .find(({ apiKeyName }) => apiKeyName === name);
  if (key === undefined) throw new Error(`the fixture has no API key ${name}`);
  return key;
}

const SCHEMES = {
  p256: 'SIGNATURE_SCHEME_TK_API_P256',
  secp256k1: 'SIGNATURE_SCHEME_TK_API_SECP256K1',
  ed25519: 'SIGNATURE_SCHEME_TK_API_ED25519',
};

function privateKeyOf({ privateKey, curve }) {
  if (curve === 'ed25519') {
    const pkcs8 = Buffer.from(`302e020100300506032b657004220420${privateKey}`, 'hex');
    return createPrivateKey({ key: pkcs8, format: 'der', type: 'pkcs8' });
  }
  const ecdh = createECDH(curve === 'p256' ? 'prime256v1' : 'secp256k1');
  ecdh.setPrivateKey(privateKey, 'hex');
  const point = ecdh.getPublicKey();
  return createPrivateKey({
    format: 'jwk',
    key: {
      kty: 'EC',
      crv: curve === 'p256' ? 'P-256' : 'secp256k1',
      d: Buffer.from(privateKey, 'hex').toString('base64url'),
      x: point.subarray(1, 33).toString('base64url'),
      y: point.subarray(33).toString('base64url'),
    },
  });
}

export const encodeStamp = (stamp) => Buffer.from(JSON.stringify(stamp)).toString('base64url');

/** An X-Stamp value over exactly these bytes. */
export function stampOf(body, apiKey = apiKeyNamed('gateway p256')) {
  const algorithm = apiKey.curve === 'ed25519' ? null : 'sha256';
  const signature = sign(algorithm, Buffer.from(body), privateKeyOf(apiKey)).toString('hex');
  return encodeStamp({ publicKey: apiKey.publicKey, scheme: SCHEMES[apiKey.curve], signature });
}

/**
 * A passkey stamp over these bytes, made with the fixture's authenticator. `changes` replace parts and so damage it.
 */
export function webAuthnStampOf(body, changes = {}) {
  const sha256 = (bytes) => createHash('sha256').update(bytes).digest();
  const [vector] = readVectors('stamps.json').webauthn;
  const { origin = vector.origin, rpId = vector.rpId, flags = 0x05, type = 'webauthn.get' } = changes;
  const challenge = Buffer.from(sha256(body).toString('hex')).toString('base64url');
  const clientData = Buffer.from(JSON.stringify({ type, challenge, origin, crossOrigin: false }));
  const authenticatorData = Buffer.concat([sha256(rpId), Buffer.from([flags, 0, 0, 0, 7])]);
  const key = privateKeyOf({ privateKey: vector.privateKey, curve: 'p256' });
  return {
    authenticatorData: authenticatorData.toString('base64url'),
    clientDataJson: clientData.toString('base64url'),
    credentialId: vector.stamp.credentialId,
    signature: sign('sha256', Buffer.concat([authenticatorData, sha256(clientData)]), key).toString('base64url'),
  };
}

/**
 * A JSON Web Token, signed with the fixture's key of the identity provider `issuer`. Without `issuer`, the service
 * signs it.
 * @param {object} claims
 * @param {{issuer?: string, header?: object}} [options]
 */
export function tokenOf(claims, { issuer, header = { alg: 'ES256', typ: 'JWT' } } = {}) {
  const fixture = readFixture();
  const signer = issuer === undefined ? fixture.tokenKey : fixture.tokenIssuers.find((each) => each.issuer === issuer);
  const part = (value) => Buffer.from(JSON.stringify(value)).toString('base64url');
  const text = `${part(header)}.${part(claims)}`;
  // The service signs the SHA-256 of the text's SHA-256 in its own tokens.
  const signed = issuer === undefined ? createHash('sha256').update(text).digest() : Buffer.from(text);
  const key = privateKeyOf({ ...signer, curve: 'p256' });
  return `${text}.${sign('sha256', signed, { key, dsaEncoding: 'ieee-p1363' }).toString('base64url')}`;
}

const inAnHour = () => Math.floor(Date.now() / 1000) + 3600;

/** A verification token that names the key and the fixture's end user. `changes` replace claims. */
export function verificationTokenFor(publicKey, changes = {}) {
  return tokenOf({ public_key: publicKey, contact: 'end.user@example.com', exp: inAnHour(), ...changes });
}

/** An identity provider's token that names the key and the fixture's end user. `changes` replace claims. */
export function oidcTokenFor(publicKey, changes = {}) {
  const issuer = 'https://accounts.example.com';
  const nonce = createHash('sha256').update(publicKey).digest('hex');
  return tokenOf({ iss: issuer, aud: 'audience', sub: 'subject', nonce, exp: inAnHour(), ...changes }, { issuer });
}

export const ATTESTED_SCHEMES = {
  STAMP_ATTESTED_SCHEME_P256_VERIFICATION_TOKEN: verificationTokenFor,
  STAMP_ATTESTED_SCHEME_P256_OIDC: oidcTokenFor,
};

/**
 * A stamp over these bytes by an unregistered key, which a token attests.
 * @param {string | Buffer} body
 * @param {string} scheme
 * @param {{token?: string, apiKey?: typeof UNREGISTERED}} [options]
 */
export function attestedStampOf(body, scheme, { token, apiKey = UNREGISTERED } = {}) {
  const signature = sign('sha256', Buffer.from(body), privateKeyOf(apiKey)).toString('hex');
  const publicKeyAttestation = token ?? ATTESTED_SCHEMES[scheme](apiKey.publicKey);
  return { publicKeyAttestation, scheme, publicKey: apiKey.publicKey, signature };
}

/** An end user's temporary key. */
export const UNREGISTERED = (() => {
  const ecdh = createECDH('prime256v1');
  ecdh.setPrivateKey('5a'.repeat(32), 'hex');
  return { curve: 'p256', privateKey: '5a'.repeat(32), publicKey: ecdh.getPublicKey('hex', 'compressed') };
})();

/**
 * Sends one request and reads the whole response.
 * @param {string} url
 * @param {{method?: string, headers?: [string, string][], body?: string | Buffer, agent?: http.Agent}} request
 * @returns {Promise<{status: number, headers: object, body: Buffer, text: string, json: any}>}
 * @throws {Error} if the connection ends before the response does.
 */
export function exchange(url, { method = 'POST', headers = [], body = '', agent } = {}) {
  const { host } = new URL(url);
  const bytes = Buffer.from(body);
  const all = [['Host', host], ...headers, ['Content-Length', String(bytes.length)]];
  return new Promise((resolve, reject) => {
    const request = http.request(url, { method, headers: all.flat(), agent }, (response) => {
      const chunks = [];
      response.on('data', (chunk) => chunks.push(chunk));
      response.on('error', reject);
      response.on('end', () => resolve(answerOf(response, Buffer.concat(chunks))));
    });
    request.on('error', reject);
    request.end(bytes);
  });
}

/**
 * @param {http.IncomingMessage} response
 * @param {Buffer} body
 */
function answerOf({ statusCode, headers }, body) {
  const text = body.toString('utf8');
  const isJson = headers['content-type'] === 'application/json' && text !== '';
  return { status: statusCode, headers, body, text, json: isJson ? tryParse(text) : undefined };
}

function tryParse(text) {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** @type {[string, string][]} */
export const JSON_HEADERS = [
  ['Content-Type', 'application/json'],
  ['Accept', 'application/json'],
];

/**
 * Posts a body with a valid stamp.
 * @param {{url: string}} simulator
 * @param {string} path
 * @param {string | Buffer | object} body
 * @param {{apiKey?: object, agent?: http.Agent, headers?: [string, string][]}} [options]
 */
export function post(simulator, path, body, { apiKey, agent, headers = JSON_HEADERS } = {}) {
  const text = typeof body === 'string' || Buffer.isBuffer(body) ? body : JSON.stringify(body);
  /** @type {[string, string][]} */
  const stamped = [...headers, ['X-Stamp', stampOf(text, apiKey)]];
  return exchange(simulator.url + path, { headers: stamped, body: text, agent });
}

let lastTimestamp = 0;

/** Returns a timestampMs that this process has not used yet. */
export function freshTimestamp() {
  lastTimestamp = Math.max(Date.now(), lastTimestamp + 1);
  return String(lastTimestamp);
}

/** Posts a submit for the fixture's organization, or for another. */
export function submit(simulator, name, type, parameters, { organizationId = ORGANIZATION, ...options } = {}) {
  const body = { type: `ACTIVITY_TYPE_${type}`, timestampMs: freshTimestamp(), organizationId, parameters };
  return post(simulator, `/public/v1/submit/${name}`, body, options);
}

export function query(simulator, name, body = {}, options = {}) {
  return post(simulator, `/public/v1/query/${name}`, { organizationId: ORGANIZATION, ...body }, options);
}

/** The time limit of a test. No test needs a tenth of it; it only ends tests that hang. */
const HANG_BOUND_MS = 60_000;

/** Returns a test function that starts a simulator and calls `use` with it. */
export function withSimulator(startSimulator, options, use) {
  return async () => {
    const simulator = await startSimulator(options);
    let timer;
    const hang = new Promise((_, reject) => {
      timer = setTimeout(() => reject(new Error('the test hangs')), HANG_BOUND_MS);
    });
    try {
      await Promise.race([use(simulator), hang]);
    } finally {
      clearTimeout(timer);
      await simulator.close();
    }
  };
}

/**
 * A received delivery.
 * @typedef {object} Received
 * @property {number} number
 * @property {string} method
 * @property {string} path
 * @property {[string, string][]} headers
 * @property {Record<string, string[]>} fields the headers' values by their names in lower case
 * @property {Buffer} body
 * @property {number} chunks the number of pieces in which the body arrived
 * @property {boolean} isComplete
 */

/** A plain HTTP server that receives webhooks. */
class Receiver {
  /** The deliveries that have ended, also incomplete ones. @type {Received[]} */
  received = [];
  bytes = 0;
  /** The largest number of concurrent deliveries. */
  most = 0;
  #requests = 0;
  #underWay = 0;
  #held = new Set();
  #waiters = new Waiters();

  /** @param {(number: number, received: Received) => {status?, headers?, held?, reset?, closed?}} answer */
  constructor(answer, tls) {
    this.answer = answer;
    const take = (request, response) => this.#take(request, response);
    this.server = tls ? https.createServer(tls, take) : http.createServer(take);
    this.server.keepAliveTimeout = HANG_BOUND_MS;
    this.scheme = tls ? 'https' : 'http';
  }

  /** Listens. After a close, a second call listens on the same port. */
  async open() {
    await once(this.server.listen(this.port ?? 0, '127.0.0.1'), 'listening');
    const { port } = /** @type {import('node:net').AddressInfo} */ (this.server.address());
    this.port = port;
    this.url = `${this.scheme}://127.0.0.1:${this.port}/hook`;
  }

  async close() {
    if (!this.server.listening) return;
    await new Promise((resolve) => {
      this.server.close(resolve);
      this.disconnect();
    });
  }

  disconnect() {
    this.server.closeAllConnections();
  }

  /** Answers the held deliveries. */
  release() {
    this.#held.forEach((answer) => answer());
    this.#held.clear();
  }

  /** Resolves when `count` deliveries have ended. */
  waitFor(count) {
    return this.#waiters.until(() => (this.received.length >= count ? true : undefined));
  }

  /** Resolves when `count` bytes of bodies have arrived. */
  waitForBytes(count) {
    return this.#waiters.until(() => (this.bytes >= count ? true : undefined));
  }

  #take(request, response) {
    this.#requests += 1;
    this.#underWay += 1;
    this.most = Math.max(this.most, this.#underWay);
    response.on('close', () => (this.#underWay -= 1));
    const headers = headerPairs(request.rawHeaders);
    /** @type {Record<string, string[]>} */
    const fields = {};
    for (const [name, value] of headers) (fields[name.toLowerCase()] ??= []).push(value);
    const { method, url: path } = request;
    const received = { number: this.#requests, method, path, headers, fields, chunks: 0 };
    const chunks = [];
    request.on('data', (chunk) => {
      chunks.push(chunk);
      this.bytes += chunk.length;
      this.#waiters.wake();
    });
    request.on('error', () => undefined);
    request.on('close', () => {
      const body = Buffer.concat(chunks);
      // Keeps the deliveries in the order in which they began, which is nearly the order in which they end.
      const after = this.received.findLastIndex(({ number }) => number < received.number) + 1;
      const whole = { ...received, body, chunks: chunks.length, isComplete: request.complete };
      this.received.splice(after, 0, whole);
      if (request.complete) this.#reply({ ...received, body }, response);
      this.#waiters.wake();
    });
  }

  #reply(received, response) {
    const { status = 200, headers, held, reset, closed } = this.answer(received.number, received);
    if (reset) return void response.socket?.resetAndDestroy();
    if (closed) return void response.socket?.destroy();
    const answer = () => response.writeHead(status, headers).end();
    if (held) this.#held.add(answer);
    else answer();
  }
}

/**
 * Starts a receiver, which by default answers 200.
 * @param {{answer?: Receiver['answer'], tls?: object}} [options]
 * @returns {Promise<Receiver>}
 */
export async function startReceiver({ answer = () => ({}), tls } = {}) {
  const receiver = new Receiver(answer, tls);
  await receiver.open();
  return receiver;
}
