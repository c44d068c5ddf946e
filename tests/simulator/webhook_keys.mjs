// The keys that sign deliveries, and the key set that publishes them.
import { createPrivateKey, createPublicKey, randomBytes } from 'node:crypto';
import { FaultError } from './fault_list.mjs';

/** Points of the curve's small subgroup: one of order 1, one of order 2. */
const SMALL_ORDER = [`01${'00'.repeat(31)}`, `ec${'ff'.repeat(30)}7f`];

const hexToBase64url = (hex) => Buffer.from(hex, 'hex').toString('base64url');

export class WebhookKeys {
  /**
   * @param {{kid: string, seed: string}[]} initial the initial keys, of which the first one signs; a seed has 64 hex
   *     digits
   * @param {string} operator
   */
  constructor(initial, operator) {
    this.initial = initial;
    this.operator = operator;
    this.reset();
  }

  reset() {
    this.made = 0;
    /** The content of the key set, in order: the service's keys, and values that a test has added. */
    this.published = this.initial.map((key) => ({ key: withKeyPair(key) }));
    this.signing = this.published[0].key;
  }

  /**
   * Makes a new key.
   * @param {object} [wanted]
   * @param {string} [wanted.kid] default: webhook-key-2 and so on
   * @param {string} [wanted.seed] default: random
   * @param {boolean} [wanted.published] whether the key set contains it
   * @param {boolean} [wanted.signing] whether it signs all later deliveries
   */
  add({ kid, seed = randomBytes(32).toString('hex'), published = true, signing = true, ...unknown } = {}) {
    if (Object.keys(unknown).length > 0) throw new FaultError(`a key has no option ${Object.keys(unknown).join(', ')}`);
    if (!/^[0-9a-f]{64}$/.test(seed)) throw new FaultError('seed must be 64 digits of lower-case hex');
    this.made += 1;
    const key = withKeyPair({ kid: kid ?? `webhook-key-${this.initial.length + this.made}`, seed });
    if (published) this.published.push({ key });
    if (signing) this.signing = key;
    return describe(key);
  }

  /** Removes a key from the key set. If this key signs deliveries, it continues to sign them. */
  drop(kid) {
    const left = this.published.filter(({ key, jwk }) => (key ?? jwk)?.kid !== kid);
    if (left.length === this.published.length) throw new FaultError(`the key set has no key ${kid}`);
    this.published = left;
  }

  /** Adds any JSON value to the key set, unchanged. */
  publish(jwk, { first = false } = {}) {
    if (first) this.published.unshift({ jwk });
    else this.published.push({ jwk });
  }

  /** Adds keys to the key set that are unusable for different reasons, some before and some after the usable keys. */
  publishBroken() {
    brokenKeys(this.operator).forEach((jwk, index) => this.publish(jwk, { first: index % 2 === 0 }));
  }

  /** The service's own keys: the published ones, and the one that signs. */
  list() {
    const published = this.published.filter(({ key }) => key !== undefined).map(({ key }) => key);
    return [...new Set([...published, this.signing])].map((key) => ({
      ...describe(key),
      published: published.includes(key),
      signing: key === this.signing,
    }));
  }

  /** The key set in the form of the discovery endpoint. */
  document() {
    return { keys: this.published.map(({ key, jwk }) => (key === undefined ? jwk : jwkOf(key, this.operator))) };
  }
}

/** Node's private key object for an Ed25519 seed in hex. */
export function privateKeyOfSeed(seed) {
  const pkcs8 = Buffer.from(`302e020100300506032b657004220420${seed}`, 'hex');
  return createPrivateKey({ key: pkcs8, format: 'der', type: 'pkcs8' });
}

/** @param {{kid?: string, seed: string}} key */
function withKeyPair({ kid, seed }) {
  const privateKey = privateKeyOfSeed(seed);
  return { kid, privateKey, x: createPublicKey(privateKey).export({ format: 'jwk' }).x };
}

const describe = ({ kid, x }) => ({ kid, x });

function jwkOf({ kid, x }, operator) {
  return {
    kid,
    kty: 'OKP',
    crv: 'Ed25519',
    alg: 'EdDSA',
    use: 'sig',
    x,
    [`${operator}_signature_algorithm`]: 'ed25519',
    [`${operator}_signature_version`]: 'v1',
  };
}

function brokenKeys(operator) {
  const good = () => withKeyPair({ seed: randomBytes(32).toString('hex') }).x;
  const changes = {
    type: { kty: 'EC' },
    curve: { crv: 'Ed448' },
    use: { use: 'enc' },
    algorithm: { alg: 'ES256' },
    short: { x: randomBytes(31).toString('base64url') },
    long: { x: randomBytes(33).toString('base64url') },
    padded: { x: `${good()}=` },
    hex: { x: randomBytes(32).toString('hex') },
    'no-x': { x: undefined },
    identity: { x: hexToBase64url(SMALL_ORDER[0]) },
    'small-order': { x: hexToBase64url(SMALL_ORDER[1]) },
    'other-types': { x: 7 },
    'no-kid': { kid: undefined },
    'empty-kid': { kid: '' },
    'tab-in-kid': { kid: 'broken\tkid' },
  };
  return Object.entries(changes).map(([name, change]) => {
    return { ...jwkOf({ kid: `broken-${name}`, x: good() }, operator), ...change };
  });
}
