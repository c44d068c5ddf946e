// Applies faults to deliveries: changes an attempt before and after signing it.
import { randomBytes } from 'node:crypto';
import { FaultError, FaultList, part } from './fault_list.mjs';
import { privateKeyOfSeed } from './webhook_keys.mjs';
import { headerName, headerNames, memberOf, signed } from './webhook_signature.mjs';

const CONTENT_TYPE = 'Content-Type';

/** Each kind's options with their defaults; `undefined` means no default. */
const OPTIONS = {
  wrongSignature: { byte: 0 },
  otherKey: {},
  flippedBody: { byte: undefined },
  timestamp: { offsetMs: undefined, value: undefined },
  keyId: { value: 'unknown-key' },
  version: { value: 'v2' },
  algorithm: { value: 'ed448' },
  labels: { organizationId: undefined, type: undefined, webhookVersion: undefined },
  missingHeader: { header: undefined },
  duplicateHeader: { header: undefined, value: undefined },
  malformedHeader: { header: undefined, value: undefined },
  upperCaseHex: {},
  lowerCaseNames: {},
  hugeBody: { bytes: undefined },
  chunked: { bytes: 1024 },
  truncatedBody: { bytes: undefined },
  slowBody: { ms: 10 },
  answerLost: {},
  repeated: { count: 1, body: undefined, bodyBase64: undefined },
  together: { faults: [] },
};

const FAULTY_HEADERS = [...headerNames, CONTENT_TYPE];

const CHOICES = { header: FAULTY_HEADERS };

const NEEDED = {
  missingHeader: ['header'],
  duplicateHeader: ['header'],
  malformedHeader: ['header'],
  hugeBody: ['bytes'],
};

const NUMBERS = ['byte', 'bytes', 'count', 'ms', 'offsetMs'];

/** For each header, a value in the wrong form. */
const MALFORMED = {
  'Organization-Id': 'an organization',
  'Event-Type': 'a type',
  Timestamp: '1.7e12',
  'Webhook-Version': 'one',
  'Event-Id': 'an/event',
  'Signature-Key-Id': 'a.key',
  'Signature-Algorithm': 'ed 25519',
  'Signature-Version': 'v 1',
  Signature: 'not hex',
  [CONTENT_TYPE]: 'json',
};

export class WebhookFaults extends FaultList {
  constructor() {
    super({
      options: OPTIONS,
      choices: CHOICES,
      needed: NEEDED,
      match: ['eventId', 'organizationId', 'type', 'attempt'],
      check,
    });
  }

  /**
   * Finds the fault for this attempt, counts its use, and returns its parts.
   * @param {{eventId: string, organizationId: string, type: string, attempt: number}} attempt
   */
  take(attempt) {
    const fits = (parts, match) => Object.entries(match).every(([name, value]) => attempt[name] === value);
    return this.takeFirst(fits);
  }
}

function check({ kind, ...given }) {
  if (kind === 'timestamp' && (given.offsetMs === undefined) === (given.value === undefined)) {
    throw new FaultError('timestamp needs either offsetMs or value');
  }
  for (const name of NUMBERS.filter((each) => given[each] !== undefined)) {
    if (!Number.isSafeInteger(given[name])) throw new FaultError(`${kind}.${name} must be a whole number`);
  }
}

const BEFORE_SIGNING = {
  otherKey: (draft) => (draft.privateKey = privateKeyOfSeed(randomBytes(32).toString('hex'))),
  timestamp: (draft, { offsetMs, value }) => {
    draft.timestamp = value ?? String(BigInt(draft.timestamp) + BigInt(offsetMs));
  },
  keyId: (draft, { value }) => (draft.keyId = value),
  version: (draft, { value }) => (draft.version = value),
  algorithm: (draft, { value }) => (draft.algorithm = value),
  labels: (draft, { kind, ...labels }) => {
    for (const [name, value] of Object.entries(labels)) draft[name] = value ?? draft[name];
  },
  // The signature covers the malformed value, so that the value's form is the only fault.
  malformedHeader: (draft, { header, value }) => {
    if (memberOf(header) in draft) draft[memberOf(header)] = value ?? MALFORMED[header];
  },
  hugeBody: (draft, { bytes }) => (draft.body = grown(draft.body, bytes)),
};

/** Changes to a signed message. The last argument of each function is upstream's name. */
const AFTER_SIGNING = {
  wrongSignature: (message, { byte }, operator) => {
    changeHeader(message, 'Signature', operator, (hex) => flipped(Buffer.from(hex, 'hex'), byte).toString('hex'));
  },
  flippedBody: (message, { byte }) => (message.body = flipped(message.body, byte ?? message.body.length >> 1)),
  missingHeader: (message, { header }, operator) => {
    message.headers = message.headers.filter((field) => !isHeader(field, header, operator));
  },
  duplicateHeader: (message, { header, value }, operator) => {
    message.headers = message.headers.flatMap((field) =>
      isHeader(field, header, operator) ? [field, [field[0], value ?? field[1]]] : [field],
    );
  },
  malformedHeader: (message, { header, value }, operator) => {
    changeHeader(message, header, operator, () => value ?? MALFORMED[header]);
  },
  upperCaseHex: (message, fault, operator) => {
    changeHeader(message, 'Signature', operator, (hex) => hex.toUpperCase());
  },
  lowerCaseNames: (message) => {
    message.headers = message.headers.map(([name, value]) => [name.toLowerCase(), value]);
  },
};

/**
 * Signs a draft with its fault applied.
 * @param {import('./webhook_signature.mjs').Draft} draft
 * @param {object[]} parts
 * @returns {import('./webhook_signature.mjs').Message}
 * @throws {FaultError} if the fault cannot be applied to this delivery.
 */
export function faultilySigned(draft, parts) {
  const changed = { ...draft };
  for (const fault of parts) BEFORE_SIGNING[fault.kind]?.(changed, fault);
  const message = signed(changed);
  for (const fault of parts) AFTER_SIGNING[fault.kind]?.(message, fault, draft.operator);
  return message;
}

function isHeader([name], header, operator) {
  const wanted = header === CONTENT_TYPE ? header : headerName(header, operator);
  return name.toLowerCase() === wanted.toLowerCase();
}

function changeHeader(message, header, operator, change) {
  message.headers = message.headers.map((field) =>
    isHeader(field, header, operator) ? [field[0], change(field[1])] : field,
  );
}

function flipped(bytes, at) {
  if (!(at in bytes)) throw new FaultError(`there is no byte ${at} to flip`);
  const copy = Buffer.from(bytes);
  copy[at] ^= 0x01;
  return copy;
}

/** Returns the JSON object with a member `padding`, which makes the object exactly `bytes` bytes long. */
function grown(body, bytes) {
  const [open, close] = [body.length > 2 ? ',"padding":"' : '"padding":"', '"}'];
  const padding = bytes - (body.length - 1) - open.length - close.length;
  if (body.at(-1) !== 0x7d || padding < 0) throw new FaultError(`the body cannot become ${bytes} bytes long`);
  return Buffer.concat([body.subarray(0, -1), Buffer.from(open), Buffer.alloc(padding, 'x'), Buffer.from(close)]);
}

/** How often the fault `repeated` repeats the delivery, and with which body. */
export function repetitionOf(parts, body) {
  const fault = part(parts, 'repeated');
  if (fault === undefined) return { count: 0 };
  const other = fault.bodyBase64 === undefined ? fault.body : Buffer.from(fault.bodyBase64, 'base64');
  return { count: fault.count, body: other === undefined ? body : Buffer.from(other) };
}
