// Attested keys: an unregistered key makes the stamp, and a token in the stamp names the key and its user. The token
// comes from the service (a verification token) or from an identity provider.
import { createHash, verify } from 'node:crypto';
import { fromBase64url } from './encodings.mjs';
import { unauthenticated } from './errors.mjs';
import { publicKeyFromHex } from './keys.mjs';

const sha256 = (bytes) => createHash('sha256').update(bytes).digest();

/**
 * For each scheme: how the token is signed, how it names the key, and how it names the user.
 *
 * @typedef {object} Attestors finds keys that sign tokens, and users that tokens name
 * @property {import('node:crypto').KeyObject} tokenKey verifies the service's own tokens
 * @property {(issuer: string) => import('node:crypto').KeyObject | undefined} issuerKey verifies an identity provider's
 *     tokens
 * @property {(contact: string) => object | undefined} userByContact
 * @property {(claims: {iss: string, aud: string, sub: string}) => object | undefined} userByProvider
 */
const SCHEMES = {
  STAMP_ATTESTED_SCHEME_P256_VERIFICATION_TOKEN: {
    key: (attestors) => attestors.tokenKey,
    // The service signs the SHA-256 of the text's SHA-256.
    signed: (text) => sha256(text),
    names: (claims, publicKey) => claims.public_key === publicKey,
    user: (attestors, { contact }) => attestors.userByContact(contact),
  },
  STAMP_ATTESTED_SCHEME_P256_OIDC: {
    key: (attestors, { iss }) => attestors.issuerKey(iss),
    signed: (text) => Buffer.from(text),
    names: (claims, publicKey) => claims.nonce === sha256(publicKey).toString('hex'),
    user: (attestors, claims) => attestors.userByProvider(claims),
  },
};

const malformed = (reason) => unauthenticated('SIGNATURE_INVALID', `the stamp's attestation ${reason}`);

/**
 * @param {{scheme: string, publicKeyAttestation: string, publicKey: string}} stamp
 * @param {Attestors} attestors
 * @returns {import('./stamps.mjs').Credential} the key's credential, which expires with the token
 * @throws {import('./errors.mjs').Refusal} always UNAUTHENTICATED
 */
export function attestedCredential({ scheme, publicKeyAttestation, publicKey }, attestors) {
  const rules = Object.hasOwn(SCHEMES, scheme) ? SCHEMES[scheme] : undefined;
  if (rules === undefined) throw malformed('names an unknown scheme');
  const { claims, signedText, signature } = readToken(publicKeyAttestation);
  const key = rules.key(attestors, claims);
  if (key === undefined) throw malformed('has a token of an unknown issuer');
  const signed = rules.signed(signedText);
  if (!verify('sha256', signed, { key, dsaEncoding: 'ieee-p1363' }, signature)) throw malformed('does not verify');
  if (!Number.isSafeInteger(claims.exp)) throw malformed('has no end');
  if (!rules.names(claims, publicKey)) throw malformed('has a token for another key');
  const user = rules.user(attestors, claims);
  if (user === undefined) throw unauthenticated('CREDENTIAL_NOT_FOUND', 'the token names no known user');
  return { publicKey, curve: 'p256', key: keyOf(publicKey), user, expiresAtMs: BigInt(claims.exp) * 1000n };
}

function keyOf(publicKey) {
  try {
    return publicKeyFromHex(publicKey, 'p256');
  } catch {
    throw malformed('has a public key that is not valid');
  }
}

/** Parses a JSON Web Token whose header names ES256. */
function readToken(text) {
  const parts = text.split('.').map(fromBase64url);
  if (parts.length !== 3 || parts.includes(undefined)) throw malformed('is no token');
  const [header, claims] = parts.slice(0, 2).map(readObject);
  if (header?.alg !== 'ES256' || claims === undefined) throw malformed('is no ES256 token');
  return { claims, signedText: text.slice(0, text.lastIndexOf('.')), signature: parts[2] };
}

function readObject(bytes) {
  try {
    const value = JSON.parse(bytes.toString('utf8'));
    return value !== null && typeof value === 'object' ? value : undefined;
  } catch {
    return undefined;
  }
}
