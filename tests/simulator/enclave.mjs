// Replaces the service's secure enclaves: signs tokens, encrypts exports, and makes other bundles of random bytes that
// look encrypted.
import { ECDH, createHash, createPublicKey, generateKeyPairSync, randomBytes, sign } from 'node:crypto';
import { isRecipient, seal } from './hpke.mjs';
import { privateKeyFromHex } from './keys.mjs';

const sha256 = (text) => createHash('sha256').update(text).digest();

export class Enclave {
  #key;

  /**
   * @param {{privateKey: string}} tokenKey of P-256, in hex
   * @param {string} operator the service's name, which is a part of what an export's encryption covers
   */
  constructor({ privateKey }, operator) {
    this.#key = privateKeyFromHex(privateKey);
    this.operator = operator;
  }

  get publicKey() {
    return compressedHex(createPublicKey(this.#key));
  }

  /** A JSON Web Token as the service signs it: over the SHA-256 of the text's SHA-256, which differs from ES256. */
  token(claims) {
    const part = (value) => Buffer.from(JSON.stringify(value)).toString('base64url');
    const signed = `${part({ alg: 'ES256', typ: 'JWT' })}.${part(claims)}`;
    const signature = sign('sha256', sha256(signed), { key: this.#key, dsaEncoding: 'ieee-p1363' });
    return `${signed}.${signature.toString('base64url')}`;
  }

  /** @param {string} payload */
  proof(payload) {
    return {
      scheme: 'SIGNATURE_SCHEME_EPHEMERAL_KEY_P256',
      publicKey: this.publicKey,
      proofPayload: payload,
      signature: sign('sha256', Buffer.from(payload), this.#key).toString('hex'),
    };
  }

  /** Random bytes in place of a secret that the service would encrypt to `recipient`. */
  bundle(recipient) {
    return JSON.stringify({ encappedPublic: recipient, ciphertext: randomBytes(48).toString('hex') });
  }

  /**
   * Encrypts a random private key, because the simulator has no private keys of accounts, as the service encrypts an
   * export. If `recipient` is not a point of P-256, returns random bytes instead.
   */
  exportBundle(recipient, organizationId) {
    if (!isRecipient(recipient)) return this.bundle(recipient);
    const { encapped, ciphertext } = seal(recipient, randomBytes(32), `${this.operator}_hpke`);
    const sealed = { encappedPublic: encapped.toString('hex'), ciphertext: ciphertext.toString('hex') };
    const data = Buffer.from(JSON.stringify({ ...sealed, organizationId }));
    return JSON.stringify({
      version: 'v1.0.0',
      data: data.toString('hex'),
      dataSignature: sign('sha256', data, this.#key).toString('hex'),
      enclaveQuorumPublic: ECDH.convertKey(this.publicKey, 'prime256v1', 'hex', 'hex', 'uncompressed'),
    });
  }

  /** A new API key whose private key is discarded. */
  newPublicKey() {
    return compressedHex(generateKeyPairSync('ec', { namedCurve: 'P-256' }).publicKey);
  }
}

function compressedHex(publicKey) {
  const { x, y } = publicKey.export({ format: 'jwk' });
  const isOdd = Buffer.from(y, 'base64url').at(-1) & 1;
  return (isOdd ? '03' : '02') + Buffer.from(x, 'base64url').toString('hex');
}
