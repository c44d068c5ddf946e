// Verifies stamps: checks that a registered key signed exactly these bytes.
import { verify } from 'node:crypto';
import { attestedCredential } from './attested.mjs';
import { fromBase64url, fromHex, rawSignature } from './encodings.mjs';
import { unauthenticated } from './errors.mjs';
import { JsonError, decodeUtf8, parse } from './json.mjs';
import { verifyEip191 } from './eip191.mjs';
import { verifyAssertion } from './webauthn.mjs';

const CURVE_OF_SCHEME = {
  SIGNATURE_SCHEME_TK_API_P256: 'p256',
  SIGNATURE_SCHEME_TK_API_SECP256K1: 'secp256k1',
  SIGNATURE_SCHEME_TK_API_SECP256K1_EIP191: 'secp256k1',
  SIGNATURE_SCHEME_TK_API_ED25519: 'ed25519',
};

/**
 * @typedef {object} Credential a registered key
 * @property {string} publicKey hex for an API key, COSE in hex for a passkey
 * @property {string} [curve] of an API key
 * @property {import('node:crypto').KeyObject} key
 * @property {string} [credentialId] of a passkey
 * @property {string} [rpId] of a passkey
 * @property {string} [origin] of a passkey
 * @property {object} user
 * @property {bigint} [expiresAtMs]
 *
 * @typedef {object} Stamper the credential that made the stamp, and the values for the activity's vote
 * @property {Credential} credential
 * @property {string} scheme
 * @property {string} publicKey
 * @property {string} signature
 */

/**
 * @param {{header: string, value: string}} stamp as headers.mjs returns it
 * @param {Buffer} body the exact bytes of the request
 * @param {{byPublicKey(key: string): Credential | undefined, byCredentialId(id: string): Credential | undefined} &
 *     import('./attested.mjs').Attestors} keys
 * @returns {Stamper}
 * @throws {import('./errors.mjs').Refusal} always UNAUTHENTICATED
 */
export function verifyStamp(stamp, body, keys) {
  switch (stamp.header) {
    case 'x-stamp':
      return verifyApiKeyStamp(readStamp(stamp.value, { plainToo: false }), body, keys);
    case 'x-stamp-webauthn':
      return verifyWebAuthnStamp(readStamp(stamp.value, { plainToo: true }), body, keys);
    default:
      return verifyAttestedStamp(readStamp(stamp.value, { plainToo: true }), body, keys);
  }
}

/** Reads a stamp, which is JSON in base64url. The stamp of a passkey or an attested key may also be plain JSON. */
function readStamp(value, { plainToo }) {
  const bytes = plainToo && value.startsWith('{') ? Buffer.from(value, 'latin1') : fromBase64url(value);
  if (bytes === undefined) throw malformed('is not base64url');
  try {
    const { value: stamp, duplicates } = parse(decodeUtf8(bytes));
    if (duplicates.length > 0) throw malformed('names a member twice');
    return stamp;
  } catch (error) {
    throw error instanceof JsonError ? malformed('is not JSON') : error;
  }
}

const malformed = (reason) => unauthenticated('SIGNATURE_INVALID', `the stamp ${reason}`);

function requireMembers(stamp, names) {
  const isObject = stamp !== null && typeof stamp === 'object';
  const given = isObject ? Object.keys(stamp).sort() : [];
  if (given.join() !== [...names].sort().join() || given.some((name) => typeof stamp[name] !== 'string')) {
    throw malformed(`must hold the strings ${names.join(', ')} and nothing else`);
  }
}

function verifyApiKeyStamp(stamp, body, keys) {
  requireMembers(stamp, ['publicKey', 'scheme', 'signature']);
  const { publicKey, scheme, signature } = stamp;
  const curve = CURVE_OF_SCHEME[scheme];
  if (curve === undefined) throw malformed('names an unknown scheme');
  const credential = keys.byPublicKey(publicKey);
  if (credential === undefined) throw unauthenticated('PUBLIC_KEY_NOT_FOUND', 'the public key is not registered');
  if (credential.curve !== curve) throw malformed("'s scheme does not fit the key's curve");
  if (!signatureHolds(scheme, fromHex(signature), body, credential.key)) throw malformed('does not verify');
  return { credential, scheme, publicKey, signature };
}

function signatureHolds(scheme, signature, body, key) {
  if (signature === undefined) return false;
  if (scheme === 'SIGNATURE_SCHEME_TK_API_ED25519') {
    return signature.length === 64 && verify(null, body, key, signature);
  }
  const raw = rawSignature(signature);
  if (raw === undefined) return false;
  if (scheme === 'SIGNATURE_SCHEME_TK_API_SECP256K1_EIP191') return verifyEip191(body, raw, key);
  return verify('sha256', body, { key, dsaEncoding: 'ieee-p1363' }, raw);
}

function verifyWebAuthnStamp(stamp, body, keys) {
  requireMembers(stamp, ['authenticatorData', 'clientDataJson', 'credentialId', 'signature']);
  const credential = keys.byCredentialId(stamp.credentialId);
  if (credential === undefined) throw unauthenticated('CREDENTIAL_NOT_FOUND', 'the authenticator is not registered');
  const fault = verifyAssertion(stamp, body, credential);
  if (fault !== undefined) throw malformed(fault);
  return {
    credential,
    scheme: 'SIGNATURE_SCHEME_TK_WEBAUTHN',
    publicKey: credential.publicKey,
    signature: stamp.signature,
  };
}

function verifyAttestedStamp(stamp, body, keys) {
  requireMembers(stamp, ['publicKey', 'publicKeyAttestation', 'scheme', 'signature']);
  const credential = attestedCredential(stamp, keys);
  const { publicKey, signature } = stamp;
  const scheme = 'SIGNATURE_SCHEME_TK_API_P256';
  if (!signatureHolds(scheme, fromHex(signature), body, credential.key)) throw malformed('does not verify');
  return { credential, scheme: 'SIGNATURE_SCHEME_TK_ATTESTED_P256', publicKey, signature };
}
