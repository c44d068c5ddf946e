// Verifies stamps with a library that shares no code with the gateway. Runs as a worker, and gets its batch as
// workerData.
import { createHash } from 'node:crypto';
import { parentPort, workerData } from 'node:worker_threads';
import { load } from '../clients/packages.mjs';

const { ed25519 } = load('@noble/curves/ed25519');
const { p256 } = load('@noble/curves/nist');
const { secp256k1 } = load('@noble/curves/secp256k1');

const sha256 = (bytes) => createHash('sha256').update(bytes).digest();

// The service accepts high and low values of S, so this verifier does too.
const ecdsa = (curve) => (signature, body, publicKey) =>
  curve.verify(curve.Signature.fromDER(signature), sha256(body), publicKey, { lowS: false });

const SCHEMES = {
  p256: ['SIGNATURE_SCHEME_TK_API_P256', ecdsa(p256)],
  secp256k1: ['SIGNATURE_SCHEME_TK_API_SECP256K1', ecdsa(secp256k1)],
  ed25519: ['SIGNATURE_SCHEME_TK_API_ED25519', (signature, body, key) => ed25519.verify(signature, body, key)],
};

/** The fault of a stamp over the body, or undefined. */
function faultOf(stamp, body, { curve, publicKey }) {
  const [scheme, verify] = SCHEMES[curve];
  if (!/^[A-Za-z0-9_-]+$/.test(stamp)) return 'is not base64url without padding';
  const text = Buffer.from(stamp, 'base64url').toString();
  const [, signature] = /"signature":"([0-9a-f]+)"/.exec(text) ?? [];
  if (text !== JSON.stringify({ publicKey, scheme, signature })) return `has an unexpected form: ${text}`;
  return verify(signature, body, publicKey) ? undefined : 'does not verify';
}

const { stamps, bodies, key } = workerData;
const faults = stamps.map((stamp, i) => faultOf(stamp, Buffer.from(bodies[i], 'hex'), key));
parentPort.postMessage(faults.filter(Boolean));
