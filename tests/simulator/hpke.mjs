// Encrypts as HPKE does in its base mode (RFC 9180), with P-256, HKDF-SHA256 and AES-256-GCM.
import { ECDH, createCipheriv, createECDH, createHmac } from 'node:crypto';

const KEM = Buffer.from('KEM\x00\x10', 'latin1');
const SUITE = Buffer.from('HPKE\x00\x10\x00\x01\x00\x02', 'latin1');

const hmac = (key, ...parts) => createHmac('sha256', key).update(Buffer.concat(parts)).digest();

const extract = (suite, salt, label, secret) => hmac(salt, Buffer.from('HPKE-v1'), suite, Buffer.from(label), secret);

/** At most 32 bytes, so that one block of HKDF is enough. */
function expand(suite, key, label, info, length) {
  const size = Buffer.from([0, length]);
  return hmac(key, size, Buffer.from('HPKE-v1'), suite, Buffer.from(label), info, Buffer.from([1])).subarray(0, length);
}

const uncompressed = (hex) =>
  /** @type {Buffer} */ (ECDH.convertKey(hex, 'prime256v1', 'hex', undefined, 'uncompressed'));

/** Whether the text is a point of P-256 in hex, to which seal() can encrypt. */
export function isRecipient(hex) {
  try {
    return uncompressed(hex).length === 65;
  } catch {
    return false;
  }
}

/**
 * Encrypts a message to the recipient. The additional data are both public keys.
 * @param {string} recipient a point of P-256, in hex
 * @param {Buffer} message
 * @param {string} info
 * @returns {{encapped: Buffer, ciphertext: Buffer}} the uncompressed ephemeral key, and the ciphertext with its tag
 */
export function seal(recipient, message, info) {
  const pair = createECDH('prime256v1');
  const ephemeral = pair.generateKeys();
  const shared = pair.computeSecret(recipient, 'hex');
  const publicKey = uncompressed(recipient);
  const none = Buffer.alloc(0);
  const context = Buffer.concat([ephemeral, publicKey]);
  const secret = expand(KEM, extract(KEM, none, 'eae_prk', shared), 'shared_secret', context, 32);
  const schedule = Buffer.concat([
    Buffer.from([0]),
    extract(SUITE, none, 'psk_id_hash', none),
    extract(SUITE, none, 'info_hash', Buffer.from(info)),
  ]);
  const main = extract(SUITE, secret, 'secret', none);
  const key = expand(SUITE, main, 'key', schedule, 32);
  const cipher = createCipheriv('aes-256-gcm', key, expand(SUITE, main, 'base_nonce', schedule, 12));
  cipher.setAAD(context);
  const ciphertext = Buffer.concat([cipher.update(message), cipher.final(), cipher.getAuthTag()]);
  return { encapped: ephemeral, ciphertext };
}
