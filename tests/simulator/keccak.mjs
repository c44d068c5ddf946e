// Keccak-256 as Ethereum uses it, with the padding that Keccak had before the SHA-3 standard.

const RATE_BYTES = 136;
const ROUNDS = 24;
const MASK = 2n ** 64n - 1n;

/** @type {(lane: bigint, by: bigint) => bigint} */
const rotate = (lane, by) => ((lane << by) | (lane >> (64n - by))) & MASK;

/** Each round's constant, from the linear feedback shift register of the Keccak reference. */
function roundConstants() {
  let register = 1;
  return Array.from({ length: ROUNDS }, () => {
    let constant = 0n;
    for (let bit = 0; bit < 7; bit += 1) {
      if (register & 1) constant |= 1n << (2n ** BigInt(bit) - 1n);
      register = (register << 1) ^ (register & 0x80 ? 0x171 : 0);
    }
    return constant;
  });
}

const CONSTANTS = roundConstants();

/**
 * The permutation of 25 lanes, lane (x, y) being lanes[x + 5 * y].
 * @param {bigint[]} lanes
 */
function permute(lanes) {
  for (const constant of CONSTANTS) {
    const parity = [0, 1, 2, 3, 4].map((x) => [0, 5, 10, 15, 20].reduce((sum, row) => sum ^ lanes[x + row], 0n));
    for (let i = 0; i < 25; i += 1) lanes[i] ^= parity[((i % 5) + 4) % 5] ^ rotate(parity[((i % 5) + 1) % 5], 1n);

    let [x, y, moving] = [1, 0, lanes[1]];
    for (let step = 0; step < 24; step += 1) {
      [x, y] = [y, (2 * x + 3 * y) % 5];
      const replaced = lanes[x + 5 * y];
      lanes[x + 5 * y] = rotate(moving, BigInt((((step + 1) * (step + 2)) / 2) % 64));
      moving = replaced;
    }

    for (let row = 0; row < 25; row += 5) {
      const old = lanes.slice(row, row + 5);
      for (let i = 0; i < 5; i += 1) lanes[row + i] = old[i] ^ (~old[(i + 1) % 5] & MASK & old[(i + 2) % 5]);
    }
    lanes[0] ^= constant;
  }
}

/** @param {Buffer} message */
export function keccak256(message) {
  const padded = Buffer.alloc((Math.floor(message.length / RATE_BYTES) + 1) * RATE_BYTES);
  message.copy(padded);
  padded[message.length] ^= 0x01;
  padded[padded.length - 1] ^= 0x80;

  const lanes = new Array(25).fill(0n);
  for (let block = 0; block < padded.length; block += RATE_BYTES) {
    for (let i = 0; i < RATE_BYTES / 8; i += 1) lanes[i] ^= padded.readBigUInt64LE(block + 8 * i);
    permute(lanes);
  }
  const digest = Buffer.alloc(32);
  for (let i = 0; i < 4; i += 1) digest.writeBigUInt64LE(lanes[i], 8 * i);
  return digest;
}
