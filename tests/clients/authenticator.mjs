// A passkey in software, which makes real signatures, with the interface of a browser's navigator.credentials.get.
import { createHash, createPrivateKey, sign } from 'node:crypto';

const USER_PRESENT = 0x01;
const USER_VERIFIED = 0x04;

const sha256 = (bytes) => createHash('sha256').update(bytes).digest();

/** Returns the bytes of a BufferSource, the type of binary values in WebAuthn's options. */
const bytesOf = (source) => Buffer.from(source.buffer ?? source, source.byteOffset ?? 0, source.byteLength);

const toArrayBuffer = (bytes) => Uint8Array.from(bytes).buffer;

/** A P-256 passkey in a browser that shows a page of `origin`. */
export class Authenticator {
  #key;
  #counter = 0;

  /**
   * @param {object} passkey
   * @param {string} passkey.privateKey in hex
   * @param {string} passkey.publicKey uncompressed, in hex
   * @param {string} passkey.credentialId in base64url
   * @param {string} passkey.rpId
   * @param {string} passkey.origin
   */
  constructor({ privateKey, publicKey, credentialId, rpId, origin }) {
    this.credentialId = Buffer.from(credentialId, 'base64url');
    this.rpId = rpId;
    this.origin = origin;
    const [d, x, y] = [privateKey, publicKey.slice(2, 66), publicKey.slice(66)].map((hex) =>
      Buffer.from(hex, 'hex').toString('base64url'),
    );
    this.#key = createPrivateKey({ key: { kty: 'EC', crv: 'P-256', d, x, y }, format: 'jwk' });
    /** The challenges that this passkey has signed. @type {Buffer[]} */
    this.challenges = [];
  }

  /**
   * Implements navigator.credentials.get: returns an assertion of this passkey, or throws the error that a browser
   * throws.
   */
  async get({ publicKey: { challenge, rpId, allowCredentials = [] } }) {
    const host = new URL(this.origin).hostname;
    if (rpId !== host && !host.endsWith(`.${rpId}`)) throw new DOMException('not this rpId', 'SecurityError');
    const allowed = allowCredentials.map(({ id }) => bytesOf(id));
    const isAllowed = allowed.length === 0 || allowed.some((id) => id.equals(this.credentialId));
    if (rpId !== this.rpId || !isAllowed) throw new DOMException('no such passkey', 'NotAllowedError');

    this.challenges.push(bytesOf(challenge));
    const clientData = Buffer.from(
      JSON.stringify({
        type: 'webauthn.get',
        challenge: bytesOf(challenge).toString('base64url'),
        origin: this.origin,
        crossOrigin: false,
      }),
    );
    const counter = Buffer.alloc(4);
    counter.writeUInt32BE((this.#counter += 1));
    const authenticatorData = Buffer.concat([sha256(rpId), Buffer.from([USER_PRESENT | USER_VERIFIED]), counter]);
    const signature = sign('sha256', Buffer.concat([authenticatorData, sha256(clientData)]), this.#key);
    return {
      type: 'public-key',
      id: this.credentialId.toString('base64url'),
      rawId: toArrayBuffer(this.credentialId),
      response: {
        clientDataJSON: toArrayBuffer(clientData),
        authenticatorData: toArrayBuffer(authenticatorData),
        signature: toArrayBuffer(signature),
        userHandle: null,
      },
      getClientExtensionResults: () => ({}),
    };
  }

  /** Installs this object as navigator.credentials, where web pages expect it. */
  install() {
    Object.defineProperty(globalThis, 'navigator', { value: { credentials: this }, configurable: true });
    return this;
  }
}
