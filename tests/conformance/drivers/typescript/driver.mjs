// The judge's driver of the TypeScript package. tests/conformance describes the commands.
// @ts-nocheck The package that it imports is built later.
import { createInterface } from 'node:readline';
import { setTimeout as delay } from 'node:timers/promises';
import { create, fromJson, toJson } from '@bufbuild/protobuf';
import * as stampgate from '@stampgate/client';
import * as api from '@stampgate/client/v1';

const CALLS = { call, submit };

let gateway;
/** The calls in progress by their ids: each with a signal's controller and the outcome. */
const started = new Map();

function methodOf(name) {
  const [service, method] = name.split('/');
  return api[service].methods.find((each) => each.name === method);
}

const json = (schema, message) => toJson(schema, message, { useProtoFieldName: true });

function connect({ address, tls, token_file: file, deadline_ms: timeoutMs, max_response_bytes: maxBytes }) {
  const files = tls && Object.fromEntries(Object.entries(tls).filter(([, path]) => path));
  const token = file ? { file } : undefined;
  const channelOptions = maxBytes && { 'grpc.max_receive_message_length': maxBytes };
  gateway = stampgate.connect(address, { tls: files ?? undefined, token, timeoutMs, channelOptions });
  return { ok: true };
}

const optionsOf = ({ deadline_ms: timeoutMs }, signal) => ({ ...(timeoutMs && { timeoutMs }), signal });

async function call({ method: name, request, ...command }, signal) {
  const method = methodOf(name);
  const message = fromJson(method.input, request);
  return answered(async () => ({
    response: json(method.output, await gateway.call(method, message, optionsOf(command, signal))),
  }));
}

async function submit({ method: name, request, key, wait, ...command }, signal) {
  const method = methodOf(name);
  const message = fromJson(method.input, request);
  return answered(async () => {
    const options = { ...optionsOf(command, signal), ...(key && { key }), wait };
    const result = await gateway.submit(method, message, options);
    return { result: json(api.ActivityResultSchema, create(api.ActivityResultSchema, { result })) };
  });
}

async function prepare({ method: name, request, api_key: key, ...command }) {
  const method = methodOf(name);
  return answered(async () => {
    const stamper = stampgate.apiKeyStamper(key.private);
    const options = optionsOf(command);
    const clientStamp = await gateway.stamp(method, fromJson(method.input, request), stamper, options);
    return { response: json(method.output, await gateway.call(method, { clientStamp }, options)) };
  });
}

async function answered(carryOut) {
  try {
    return await carryOut();
  } catch (error) {
    return outcomeOf(error);
  }
}

const MEMBERS = [
  [stampgate.ActivityPending, 'pending'],
  [stampgate.ActivityRejected, 'rejected'],
  [stampgate.ActivityFailed, 'failed'],
];

function outcomeOf(error) {
  if (error instanceof stampgate.OutcomeUnknown) {
    const { key, timestampMs, fingerprint, request } = error;
    const schema = api[`${request.$typeName.split('.').pop()}Schema`];
    const repeatable = { key, timestamp_ms: timestampMs?.toString(), fingerprint, request: json(schema, request) };
    return { outcome_unknown: repeatable };
  }
  if (error instanceof stampgate.StampgateError) return { error: detailsOf(error) };
  const [, member] = MEMBERS.find(([type]) => error instanceof type) ?? [];
  if (member === undefined) throw error;
  const { id, status } = error.activity;
  return { [member]: { id, status: json(api.ActivitySchema, create(api.ActivitySchema, { status })).status } };
}

const detailsOf = (error) => ({
  code: error.codeName,
  reason: error.reason || undefined,
  domain: error.domain || undefined,
  message: error.message,
  metadata: Object.keys(error.metadata).length > 0 ? error.metadata : undefined,
  violations: error.violations.length > 0 ? error.violations : undefined,
  retry_delay_ms: error.retryDelayMs,
  request_id: error.requestId,
});

async function subscribe({ id, request, cursor, cursor_file: file, events }) {
  const options = { cursor: file ? new stampgate.FileCursor(file) : (cursor ?? undefined) };
  let left = events;
  try {
    for await (const event of gateway.subscribe(fromJson(api.SubscribeRequestSchema, request), options)) {
      print({ id, event: { event_id: event.eventId, cursor: event.cursor } });
      if ((left -= 1) === 0) break;
    }
  } catch (error) {
    if (!(error instanceof stampgate.StampgateError)) return { id, cursor_error: error.message };
    if (!(error instanceof stampgate.Gap)) return { id, ...outcomeOf(error) };
    print({ id, gap: { reason: error.reason, cursor: error.cursor } });
  }
  return { id, done: true };
}

async function consume({
  id,
  subscription,
  events,
  fails = {},
  park_reason: reason,
  handler_ms: handlerMs,
  retry_delay_ms: retryDelayMs,
}) {
  const stop = new AbortController();
  let left = events;
  const handle = async ({ event, deliveryCount: count }) => {
    print({ id, delivery: { event_id: event.eventId, count } });
    if ((left -= 1) === 0) stop.abort();
    if (handlerMs) await delay(handlerMs);
    if (fails[event.eventId] === 'park') throw new stampgate.Park(reason);
    if (fails[event.eventId] === 'retry' && count === 1) throw new Error('the handler of the case fails');
  };
  try {
    await gateway.consume(subscription, handle, { retryDelayMs, signal: stop.signal });
  } catch (error) {
    if (!(error instanceof stampgate.Gap)) return { id, ...outcomeOf(error) };
    print({ id, gap: { reason: error.reason } });
  }
  return { id, done: true };
}

function verify({ event, keys }) {
  const { keys: list } = fromJson(api.GetWebhookKeySetResponseSchema, keys);
  return { valid: stampgate.verify(fromJson(api.EventSchema, event), list) };
}

function start({ id, what, ...command }) {
  const controller = new AbortController();
  started.set(id, { controller, outcome: CALLS[what](command, controller.signal) });
  return { ok: true };
}

function cancel({ id }) {
  started.get(id).controller.abort();
  return { ok: true };
}

function close() {
  gateway?.close();
  return { ok: true };
}

const wait = ({ id }) => started.get(id).outcome;

const COMMANDS = { ...CALLS, connect, prepare, subscribe, consume, verify, start, cancel, wait, close };

const print = (line) => process.stdout.write(`${JSON.stringify(line)}\n`);

for await (const line of createInterface({ input: process.stdin })) {
  const command = JSON.parse(line);
  print({ id: command.id, ...(await COMMANDS[command.do](command)) });
}
