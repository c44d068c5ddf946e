// The driver of the judge's own tests: a client without a package, on the dynamic client of tests/clients. It shows what
// a driver does, and lets the judge's tests run without any toolchain but Node.js.
import { createHash, createPublicKey, randomUUID, verify } from 'node:crypto';
import { existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { setTimeout as delay } from 'node:timers/promises';
import { call, code, connect, encode, stream } from '../../../clients/gateway.mjs';
import { stampOf } from '../../../simulator/testing.mjs';

const GAPS = ['EVENTS_TRIMMED', 'CURSOR_OF_ANOTHER_LOG', 'CURSOR_AHEAD_OF_LOG', 'EVENTS_LOST', 'EVENT_DAMAGED'];
const ENDS = { ACTIVITY_STATUS_REJECTED: 'rejected', ACTIVITY_STATUS_FAILED: 'failed' };
const COMPLETED = 'ACTIVITY_STATUS_COMPLETED';
const REPEATABLE = [code.UNAVAILABLE, code.UNKNOWN, code.DEADLINE_EXCEEDED];
/** The texts of TLS failures that last, unlike those of connections that break. */
const REFUSED_CERTIFICATE = /certificate|alert/;
/** A submit whose certificates are refused so often ends. */
const MAX_REFUSALS = 3;

let settings;
let channels = { text: '', client: undefined };
const started = new Map();

/** A channel with the current certificates. */
function client() {
  const { address, tls, max_response_bytes: maxBytes } = settings;
  const read = (file) => (file ? readFileSync(file) : undefined);
  const pem = tls ? { ca: read(tls.ca), cert: read(tls.certificate), key: read(tls.key) } : undefined;
  const options = maxBytes && { 'grpc.max_receive_message_length': maxBytes };
  const text = JSON.stringify(pem);
  if (channels.client === undefined || text !== channels.text) {
    channels.client?.close();
    channels = { text, client: connect(address, { tls: pem, ...options }) };
  }
  return channels.client;
}

const metadata = () =>
  settings.token_file ? { authorization: `Bearer ${readFileSync(settings.token_file, 'utf8').trim()}` } : {};

const retryMs = ({ retryInfo }) =>
  retryInfo && Number(retryInfo.retry_delay.seconds ?? 0) * 1000 + (retryInfo.retry_delay.nanos ?? 0) / 1e6;

/** A proxy whose connection to the gateway breaks within a response answers INTERNAL. */
const isBroken = ({ code: status, info }) =>
  REPEATABLE.includes(status) || (status === code.INTERNAL && info === undefined);

/** The gateway's errors after which upstream may have acted. */
const OPEN = ['OUTCOME_UNKNOWN', 'OUTCOME_NOT_STORED', 'IDEMPOTENCY_KEY_UNCERTAIN', 'ANSWER_TOO_LARGE'];

/** How the library's message begins if a call has got no connection. */
const NO_CONNECTION = /^No connection established/;

/** Whether upstream may have acted. RESOURCE_EXHAUSTED: the response may be larger than the library's limit. */
function mayHaveActed(error) {
  if (error.info) return OPEN.includes(error.info.reason);
  return error.code === code.RESOURCE_EXHAUSTED || (isBroken(error) && !NO_CONNECTION.test(error.details));
}

const errorOf = (error) => ({
  code: Object.keys(code).find((name) => code[name] === error.code),
  reason: error.info?.reason,
  domain: error.info?.domain,
  message: error.details ?? error.message,
  metadata: error.info?.metadata,
  violations: error.badRequest?.field_violations.map(({ field, description }) => ({ field, description })),
  retry_delay_ms: retryMs(error),
  request_id: error.metadata?.get('x-request-id')[0],
});

const isTime = (value) => Object.keys(value).every((name) => ['seconds', 'nanos'].includes(name));

/** The message in the form of protobuf JSON. */
function jsonOf(value) {
  if (Buffer.isBuffer(value)) return value.toString('base64');
  if (Array.isArray(value)) return value.map(jsonOf);
  if (value === null || typeof value !== 'object') return value;
  if (value.seconds !== undefined && isTime(value)) {
    return new Date(Number(value.seconds) * 1000 + (value.nanos ?? 0) / 1e6).toISOString();
  }
  return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, jsonOf(member)]));
}

function attempt(method, request, deadlineMs, onCall) {
  return call(client(), method, request, { deadlineMs, metadata: metadata(), onCall });
}

async function plainCall({ method, request, deadline_ms = settings.deadline_ms }, onCall) {
  try {
    return { response: jsonOf(await attempt(method, request, deadline_ms, onCall)) };
  } catch (error) {
    return { error: errorOf(error) };
  }
}

async function submit({ method, request, key, wait, deadline_ms = settings.deadline_ms }, onCall) {
  const end = Date.now() + deadline_ms;
  const idempotency_key = key ?? request.idempotency_key ?? randomUUID();
  const whole = { ...request, idempotency_key, ...(wait && { wait_until: 'WAIT_UNTIL_FINAL' }) };
  /** @type {object | undefined} */
  let unknown;
  let last;
  for (let tries = 1; ; tries += 1) {
    let waitMs = Math.min(1000, 50 * 2 ** tries) * (0.5 + Math.random() / 2);
    try {
      const { activity } = await attempt(method, whole, end - Date.now(), onCall);
      if (activity.status === COMPLETED) return { result: jsonOf(activity.result ?? {}) };
      const outcome = { [ENDS[activity.status] ?? 'pending']: { id: activity.id, status: activity.status } };
      if (!wait || outcome.pending === undefined) return outcome;
      unknown = undefined;
      last = outcome;
    } catch (error) {
      const isRefused = !error.info && REFUSED_CERTIFICATE.test(error.details);
      const helps = error.code !== code.CANCELLED && (isBroken(error) || error.retryInfo);
      last = { error: errorOf(error) };
      if (mayHaveActed(error)) unknown = { ...unknown, key: idempotency_key, ...error.info?.metadata };
      if (!helps || (isRefused && tries >= MAX_REFUSALS)) break;
      waitMs = Math.max(waitMs, retryMs(error) ?? 0);
    }
    if (Date.now() + waitMs >= end) break;
    await delay(waitMs);
  }
  return unknown ? { outcome_unknown: unknown } : last;
}

async function prepare({ method, request, api_key: apiKey, deadline_ms }) {
  const prepared = await plainCall({
    method: 'StampService/Prepare',
    request: { method, request: encode(method, request) },
    deadline_ms,
  });
  if (prepared.error) return prepared;
  const body = Buffer.from(prepared.response.body, 'base64');
  const stamp = stampOf(body, { publicKey: apiKey.public, privateKey: apiKey.private, curve: 'p256' });
  return plainCall({ method, request: { client_stamp: { body, api_key: stamp } }, deadline_ms });
}

async function subscribe({ id, request, cursor, cursor_file: file, events }) {
  let at = cursor ?? (file && existsSync(file) ? readFileSync(file, 'utf8').trim() : undefined);
  if (at === '') return { id, cursor_error: `${file} contains no cursor` };
  let count = 0;
  const save = (next) => {
    at = next;
    if (!file) return;
    writeFileSync(`${file}.new`, at);
    renameSync(`${file}.new`, file);
  };
  while (count < events) {
    const { end, time, ...rest } = request;
    const start = at ? { ...rest, cursor: at } : request;
    try {
      for await (const message of stream(client(), 'EventService/Subscribe', start, { metadata: metadata() })) {
        for (const event of message.events ?? []) {
          print({ id, event: { event_id: event.event_id, cursor: event.cursor } });
          save(event.cursor);
          if ((count += 1) === events) return { id, done: true };
        }
        save(message.cursor);
      }
    } catch (error) {
      const { reason, metadata: more = {} } = error.info ?? {};
      if (GAPS.includes(reason)) {
        print({ id, gap: { reason, cursor: more.earliest_cursor ?? more.next_cursor } });
        return { id, done: true };
      }
      if (!isBroken(error) && !error.retryInfo) return { id, error: errorOf(error) };
      at = more.cursor ?? at;
      await delay(retryMs(error) ?? 100);
    }
  }
  return { id, done: true };
}

/** Holds one event at a time, which it does not extend. */
async function consume(command) {
  const { id, subscription, events, fails = {}, park_reason, handler_ms: handlerMs = 0, retry_delay_ms } = command;
  let count = 0;
  /** What settles the delivery. */
  const handle = async ({ event: { event_id }, delivery_count }) => {
    print({ id, delivery: { event_id, count: delivery_count } });
    count += 1;
    await delay(handlerMs);
    if (fails[event_id] === 'park') return { outcome: 'SETTLE_OUTCOME_PARK', park_reason };
    if (fails[event_id] === 'retry' && delivery_count === 1) return { outcome: 'SETTLE_OUTCOME_RETRY', retry_delay_ms };
    return { outcome: 'SETTLE_OUTCOME_DONE' };
  };
  while (count < events) {
    const request = { subscription, max_unsettled: 1 };
    try {
      for await (const message of stream(client(), 'SubscriptionService/Consume', request, { metadata: metadata() })) {
        for (const delivery of message.deliveries ?? []) {
          const settle = { subscription, tokens: [delivery.token], ...(await handle(delivery)) };
          await attempt('SubscriptionService/Settle', settle, settings.deadline_ms);
          if (count === events) return { id, done: true };
        }
      }
    } catch (error) {
      const { reason } = error.info ?? {};
      if (GAPS.includes(reason)) {
        print({ id, gap: { reason } });
        return { id, done: true };
      }
      if (!isBroken(error) && !error.retryInfo) return { id, error: errorOf(error) };
      await delay(retryMs(error) ?? 100);
    }
  }
  return { id, done: true };
}

function isValid({ event, keys }) {
  const { key_id: keyId, timestamp, signature } = event.signature;
  const found = keys.keys.find(({ kid }) => kid === keyId);
  if (!found) return false;
  const key = createPublicKey({ format: 'jwk', key: { kty: 'OKP', crv: 'Ed25519', x: found.x } });
  const body = Buffer.from(event.body, 'base64');
  const signed = Buffer.concat([Buffer.from(`v1.ed25519.${keyId}.${timestamp}.${event.event_id}.`), body]);
  const sha256 = createHash('sha256').update(body).digest('base64');
  return sha256 === event.body_sha256 && verify(null, signed, key, Buffer.from(signature, 'base64'));
}

const COMMANDS = {
  connect: (command) => ((settings = command), { ok: true }),
  call: async (command) => ({ id: command.id, ...(await plainCall(command)) }),
  submit: async (command) => ({ id: command.id, ...(await submit(command)) }),
  prepare: async (command) => ({ id: command.id, ...(await prepare(command)) }),
  subscribe,
  consume,
  verify: (command) => ({ valid: isValid(command) }),
  start({ id, what, ...command }) {
    const entry = {};
    entry.ended = { call: plainCall, submit }[what](command, (sent) => (entry.sent = sent));
    started.set(id, entry);
    return { id, ok: true };
  },
  wait: async ({ id }) => ({ id, ...(await started.get(id).ended) }),
  cancel: ({ id }) => (started.get(id).sent.cancel(), { id, ok: true }),
  close() {
    channels.client?.close();
    channels = { text: '', client: undefined };
    return { ok: true };
  },
};

const print = (line) => process.stdout.write(`${JSON.stringify(line)}\n`);

for await (const line of createInterface({ input: process.stdin })) {
  const command = JSON.parse(line);
  print(await COMMANDS[command.do](command));
}
process.exit(0);
