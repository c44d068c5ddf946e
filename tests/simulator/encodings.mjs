// Strict base64url and hex, and a lenient reader of DER signatures.

/** @returns {Buffer | undefined} undefined unless the text is canonical unpadded base64url. */
export function fromBase64url(text) {
  if (!/^[A-Za-z0-9_-]*$/.test(text)) return undefined;
  const bytes = Buffer.from(text, 'base64url');
  return bytes.toString('base64url') === text ? bytes : undefined;
}

/** @returns {Buffer | undefined} */
export function fromHex(text) {
  return /^(?:[0-9a-fA-F]{2})*$/.test(text) ? Buffer.from(text, 'hex') : undefined;
}

/**
 * An ECDSA signature's r and s as 64 bytes. Upstream's wallet stamper writes leading zero bytes that DER forbids; the
 * service accepts them, but OpenSSL's strict parser does not.
 * @returns {Buffer | undefined} undefined unless the bytes are one sequence of two integers below 2^256.
 */
export function rawSignature(der) {
  const sequence = element(der, 0x30);
  if (sequence === undefined || sequence.rest.length > 0) return undefined;
  const r = element(sequence.content, 0x02);
  const s = r && element(r.rest, 0x02);
  if (s === undefined || s.rest.length > 0) return undefined;
  const scalars = [r.content, s.content].map(toScalar);
  return scalars.includes(undefined) ? undefined : Buffer.concat(scalars);
}

/** Reads one DER element whose length field is one byte, which is enough for signatures of 256-bit numbers. */
function element(bytes, tag) {
  if (bytes.length < 2 || bytes[0] !== tag || bytes[1] >= 0x80 || bytes.length < 2 + bytes[1]) return undefined;
  const end = 2 + bytes[1];
  return { content: bytes.subarray(2, end), rest: bytes.subarray(end) };
}

function toScalar(bytes) {
  const firstSet = bytes.findIndex((byte) => byte !== 0);
  if (firstSet < 0) return undefined;
  const digits = bytes.subarray(firstSet);
  return digits.length > 32 ? undefined : Buffer.concat([Buffer.alloc(32 - digits.length), digits]);
}
