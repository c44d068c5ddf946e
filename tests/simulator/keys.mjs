// Public keys as the service registers them: hex text and a curve.
import { createECDH, createPrivateKey, createPublicKey } from 'node:crypto';
import { fromHex } from './encodings.mjs';

// The prefix of a key's bytes in its SubjectPublicKeyInfo. A compressed point has 33 bytes, an Ed25519 key 32.
const CURVES = {
  p256: { bytes: 33, prefix: '3039301306072a8648ce3d020106082a8648ce3d030107032200' },
  secp256k1: { bytes: 33, prefix: '3036301006072a8648ce3d020106052b8104000a032200' },
  ed25519: { bytes: 32, prefix: '302a300506032b6570032100' },
};

export const curveNames = Object.keys(CURVES);

/**
 * @param {string} hex a compressed point, or an Ed25519 key
 * @param {string} curve p256, secp256k1 or ed25519
 * @returns {import('node:crypto').KeyObject}
 * @throws {Error} if the text is not a key on that curve.
 */
export function publicKeyFromHex(hex, curve) {
  const shape = CURVES[curve];
  if (shape === undefined) throw new Error(`curve must be one of ${curveNames.join(', ')}`);
  const bytes = fromHex(hex);
  if (bytes?.length !== shape.bytes) throw new Error(`a ${curve} key must be ${shape.bytes} bytes in hex`);
  try {
    const spki = Buffer.concat([Buffer.from(shape.prefix, 'hex'), bytes]);
    return createPublicKey({ key: spki, format: 'der', type: 'spki' });
  } catch {
    throw new Error(`the bytes are not a point of ${curve}`);
  }
}

/** The P-256 private key with this scalar, in hex. */
export function privateKeyFromHex(hex) {
  const ecdh = createECDH('prime256v1');
  ecdh.setPrivateKey(hex, 'hex');
  const point = ecdh.getPublicKey();
  const [d, x, y] = [ecdh.getPrivateKey(), point.subarray(1, 33), point.subarray(33)].map((bytes) =>
    bytes.toString('base64url'),
  );
  return createPrivateKey({ key: { kty: 'EC', crv: 'P-256', d, x, y }, format: 'jwk' });
}
