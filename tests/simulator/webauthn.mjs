// Verifies a passkey's assertion over a request by WebAuthn's rules.
import { createHash, createPublicKey, verify } from 'node:crypto';
import { fromBase64url, rawSignature } from './encodings.mjs';

const USER_PRESENT = 0x01;
const AUTHENTICATOR_DATA_MIN_BYTES = 37;

const sha256 = (bytes) => createHash('sha256').update(bytes).digest();

/**
 * @param {{authenticatorData: string, clientDataJson: string, signature: string}} stamp
 * @param {Buffer} body
 * @param {import('./stamps.mjs').Credential} credential
 * @returns {string | undefined} the fault, or undefined if the assertion is valid.
 */
export function verifyAssertion(stamp, body, credential) {
  const [authenticatorData, clientDataJson, der] = [stamp.authenticatorData, stamp.clientDataJson, stamp.signature].map(
    fromBase64url,
  );
  if (!authenticatorData || !clientDataJson || !der) return 'holds a member that is not base64url';

  const clientData = readClientData(clientDataJson);
  if (clientData?.type !== 'webauthn.get') return 'was not made by webauthn.get';
  // The challenge is the hex text of the digest, not the digest's bytes.
  const challenge = Buffer.from(sha256(body).toString('hex')).toString('base64url');
  if (clientData.challenge !== challenge) return 'answers the challenge of another body';
  if (clientData.origin !== credential.origin) return 'is of another origin';

  if (authenticatorData.length < AUTHENTICATOR_DATA_MIN_BYTES) return 'holds too little authenticator data';
  if (!authenticatorData.subarray(0, 32).equals(sha256(credential.rpId))) return 'is of another relying party';
  if ((authenticatorData[32] & USER_PRESENT) === 0) return 'was made without a user';

  const raw = rawSignature(der);
  const signed = Buffer.concat([authenticatorData, sha256(clientDataJson)]);
  /** @type {import('node:crypto').VerifyKeyObjectInput} */
  const key = { key: credential.key, dsaEncoding: 'ieee-p1363' };
  return raw !== undefined && verify('sha256', signed, key, raw) ? undefined : 'does not verify';
}

function readClientData(bytes) {
  try {
    return JSON.parse(bytes.toString('utf8'));
  } catch {
    return undefined;
  }
}

/**
 * Reads a P-256 key in COSE form (RFC 9052): a CBOR map from small integers to integers and byte strings.
 * @param {Buffer} cose
 */
export function publicKeyFromCose(cose) {
  const members = readSmallMap(cose);
  const [keyType, algorithm, curve] = [members.get(1), members.get(3), members.get(-1)];
  if (keyType !== 2 || algorithm !== -7 || curve !== 1) throw new Error('only P-256 keys for ES256 are read');
  const [x, y] = [members.get(-2), members.get(-3)].map((coordinate) => coordinate.toString('base64url'));
  return createPublicKey({ key: { kty: 'EC', crv: 'P-256', x, y }, format: 'jwk' });
}

function readSmallMap(bytes) {
  let at = 0;
  const item = () => {
    const [major, small] = [bytes[at] >> 5, bytes[at] & 0x1f];
    at += 1;
    const number = small < 24 ? small : bytes[at++];
    if (small > 24) throw new Error('the COSE key is larger than any P-256 key');
    if (major === 0) return number;
    if (major === 1) return -1 - number;
    if (major === 2) return bytes.subarray(at, (at += number));
    throw new Error('the COSE key holds a type that no P-256 key has');
  };
  if (bytes[at] >> 5 !== 5) throw new Error('the COSE key is not a map');
  const members = new Map();
  for (let left = bytes[at++] & 0x1f; left > 0; left -= 1) {
    const name = item();
    members.set(name, item());
  }
  return members;
}
