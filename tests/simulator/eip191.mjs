// Verifies wallet stamps: ECDSA over the Keccak-256 digest of the text that an Ethereum wallet signs. Node's crypto has
// no Keccak and cannot verify a signature of a digest. Therefore this file computes ECDSA with BigInt, without
// optimization.
import { keccak256 } from './keccak.mjs';

const P = 2n ** 256n - 2n ** 32n - 977n;
const N = 0xfffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141n;
const G = {
  x: 0x79be667ef9dcbbac55a06295ce870b07029bfcdb2dce28d959f2815b16f81798n,
  y: 0x483ada7726a3c4655da4fbfc0e1108a8fd17b448a68554199c47d08ffb10d4b8n,
};

/** @type {(value: bigint, modulus: bigint) => bigint} */
const modulo = (value, modulus) => ((value % modulus) + modulus) % modulus;
const toNumber = (bytes) => BigInt(`0x${bytes.toString('hex')}`);

/**
 * @param {Buffer} body
 * @param {Buffer} raw r and s, 64 bytes
 * @param {import('node:crypto').KeyObject} key on secp256k1
 */
export function verifyEip191(body, raw, key) {
  const prefix = Buffer.from(`\x19Ethereum Signed Message:\n${body.length}`, 'latin1');
  const digest = toNumber(keccak256(Buffer.concat([prefix, body])));
  const [r, s] = [toNumber(raw.subarray(0, 32)), toNumber(raw.subarray(32))];
  if (r === 0n || s === 0n || r >= N || s >= N) return false;
  const { x, y } = key.export({ format: 'jwk' });
  const point = { x: toNumber(Buffer.from(x, 'base64url')), y: toNumber(Buffer.from(y, 'base64url')) };
  const w = inverse(s, N);
  const sum = add(multiply(G, modulo(digest * w, N)), multiply(point, modulo(r * w, N)));
  return sum !== undefined && modulo(sum.x, N) === r;
}

/**
 * @param {bigint} value
 * @param {bigint} modulus
 */
function inverse(value, modulus) {
  let [low, high] = [modulo(value, modulus), modulus];
  let [lowFactor, highFactor] = [1n, 0n];
  while (low > 1n) {
    const quotient = high / low;
    [low, high] = [high - low * quotient, low];
    [lowFactor, highFactor] = [highFactor - lowFactor * quotient, lowFactor];
  }
  return modulo(lowFactor, modulus);
}

/**
 * The sum of two points; undefined stands for the point at infinity.
 * @typedef {{x: bigint, y: bigint} | undefined} Point
 * @param {Point} a
 * @param {Point} b
 * @returns {Point}
 */
function add(a, b) {
  if (a === undefined) return b;
  if (b === undefined) return a;
  if (a.x === b.x && a.y !== b.y) return undefined;
  const slope = a.x === b.x ? 3n * a.x * a.x * inverse(2n * a.y, P) : modulo(b.y - a.y, P) * inverse(b.x - a.x, P);
  const x = modulo(slope * slope - a.x - b.x, P);
  return { x, y: modulo(slope * (a.x - x) - a.y, P) };
}

/**
 * @param {Point} point
 * @param {bigint} factor
 */
function multiply(point, factor) {
  let sum;
  for (let [bits, doubled] = [factor, point]; bits > 0n; bits >>= 1n, doubled = add(doubled, doubled)) {
    if (bits & 1n) sum = add(sum, doubled);
  }
  return sum;
}
