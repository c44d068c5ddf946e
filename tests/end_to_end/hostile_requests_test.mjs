// Every operation refuses hostile requests in the same way: the call ends with INVALID_ARGUMENT and the path of every
// fault, and upstream receives nothing. The simulator's schema states which members are required, and their limits.
import assert from 'node:assert/strict';
import { after, describe, test } from 'node:test';
import { code, encode } from '../clients/gateway.mjs';
import { inputsOf, isAccepted, membersIn, operationOf, valueAt } from '../clients/operation_inputs.mjs';
import { load } from '../clients/packages.mjs';
import {
  fieldPathAt,
  isSentIfUnset,
  methodAt,
  optionAt,
  requestAt,
  requestTypeAt,
  typedPaths,
} from '../clients/typed_messages.mjs';
import { ORGANIZATION } from '../simulator/testing.mjs';
import { HANG_MS, grantOf, startStack } from './harness.mjs';

const protobuf = load('protobufjs');

/** The paths of all operations whose calls have a body. */
const paths = typedPaths.filter((path) => !path.endsWith('/jwks'));

/** An error has at most this many violations. */
const MAX_KEPT = 20;

const caller = { name: 'caller', loopback: true, grants: [grantOf(paths.map(methodAt))] };
const { simulator, gateway } = await startStack({ after }, { config: { callers: [caller] } });

/** The input of an operation that has every member, and of each oneof the member with this number. */
function fullInput(path, choice = 0) {
  const [{ input }] = inputsOf(path, { organizationId: ORGANIZATION, choice });
  return input;
}

/** Fails unless the call ends with INVALID_ARGUMENT and exactly these field paths, in any order. */
async function assertRefused(path, request, fields) {
  const error = await gateway.refusal(methodAt(path), request);
  assert.equal(error.code, code.INVALID_ARGUMENT, `${path}: ${error.message}`);
  assert.deepEqual([error.info.domain, error.info.reason], ['stampgate', 'INVALID_REQUEST'], path);
  const found = (error.badRequest?.field_violations ?? []).map(({ field = '' }) => field);
  // No request here has a stamp.
  const expected = new Set(optionAt(path).stamped_by_client ? ['client_stamp', ...fields] : fields);
  assert.equal(found.length, Math.min(expected.size, MAX_KEPT), `${path}: ${found}, not ${[...expected]}`);
  for (const field of found) assert.ok(expected.has(field), `${path}: ${field} is none of ${[...expected]}`);
}

/**
 * The places of the members without which the schema refuses the body. The gateway itself sets type and time, and the
 * texts that a message without them contains too.
 */
function requiredIn(path, input) {
  return [...membersIn(input)].filter((place) => {
    if (['type', 'timestampMs'].includes(place[0]) || isSentIfUnset(path, place)) return false;
    const body = structuredClone(input);
    delete valueAt(body, place.slice(0, -1))[place.at(-1)];
    return !isAccepted(path, body);
  });
}

const isValue = (value) => typeof value !== 'object' || value === null;

/** A field of wire type 2 with these bytes. */
const bytesField = (number, bytes) =>
  new protobuf.BufferWriter()
    .uint32((number << 3) | 2)
    .bytes(bytes)
    .finish();

/** The unknown field 1000 with the value 1. */
const UNKNOWN_FIELD = Buffer.from([0xc0, 0x3e, 0x01]);

/** The places of the messages in a request message that are in no list, as lists of fields of protobufjs. */
function* messagesIn(type, message, fields = []) {
  yield fields;
  for (const [name, value] of Object.entries(message)) {
    const field = type.fields[name].resolve();
    const isMessage = field.resolvedType?.fields && !field.repeated && !field.map;
    if (isMessage && !field.resolvedType.fullName.startsWith('.google.')) {
      yield* messagesIn(field.resolvedType, value, [...fields, field]);
    }
  }
}

/** The fields of numbers, texts and enums in a request message: their path, their field, and the object that has them. */
function* valuesIn(type, message, whole = '') {
  for (const [name, value] of Object.entries(message)) {
    const field = type.fields[name].resolve();
    const at = whole === '' ? name : `${whole}.${name}`;
    const inner = field.resolvedType?.fields;
    if (!inner) {
      if (!field.repeated && !field.map) yield { at, field, holder: message };
    } else if (field.repeated) {
      for (const [index, element] of value.entries()) yield* valuesIn(field.resolvedType, element, `${at}[${index}]`);
    } else {
      yield* valuesIn(field.resolvedType, value, at);
    }
  }
}

/** The request with another value in the field `name` of `holder`, which is a part of the request. */
function withValue(request, holder, name, value) {
  const before = holder[name];
  holder[name] = value;
  const changed = structuredClone(request);
  holder[name] = before;
  return changed;
}

describe('every operation refuses', { timeout: 3 * HANG_MS }, () => {
  test('an empty request, and names its required fields', async () => {
    for (const path of paths) {
      const input = fullInput(path);
      const top = requiredIn(path, input).filter(
        (place) => place.length === 1 && !Array.isArray(valueAt(input, place)),
      );
      await assertRefused(
        path,
        {},
        top.map((place) => fieldPathAt(path, place)),
      );
    }
  });

  test('a request without any required value, and names all of them in one error', async () => {
    let count = 0;
    for (const path of paths) {
      for (const choice of [0, 1]) {
        const input = fullInput(path, choice);
        const required = requiredIn(path, input).filter((place) => isValue(valueAt(input, place)));
        const request = structuredClone(input);
        for (const place of required) delete valueAt(request, place.slice(0, -1))[place.at(-1)];
        await assertRefused(
          path,
          requestAt(path, request),
          required.map((place) => fieldPathAt(path, place)),
        );
        count += required.length;
      }
    }
    assert.ok(count > 1000, `${count} required values`);
  });

  test('an unknown field, in the request and in each message of the request', async () => {
    let count = 0;
    for (const path of paths) {
      const request = requestAt(path, fullInput(path));
      const bytes = encode(methodAt(path), request);
      for (const fields of messagesIn(requestTypeAt(path), request)) {
        // A parser merges a message that occurs a second time with the first one.
        const addition = fields.reduceRight((inner, { id }) => bytesField(id, inner), UNKNOWN_FIELD);
        const place = fields.map(({ name }) => name).join('.');
        await assertRefused(path, Buffer.concat([bytes, addition]), [place]);
        count += 1;
      }
    }
    assert.ok(count > 300, `${count} messages`);
  });

  /** Fails unless the gateway accepts `allowed`, and refuses `refused` for one fault in the field `at`. */
  async function assertLimit(path, at, allowed, refused) {
    const preparation = { method: methodAt(path), request: encode(methodAt(path), allowed) };
    await gateway.call('StampService/Prepare', preparation);
    await assertRefused(path, refused, [at]);
  }

  test('a value beyond a limit of the protos, and no value at the limit', async () => {
    let count = 0;
    for (const path of paths) {
      const request = requestAt(path, fullInput(path));
      for (const { at, field, holder } of valuesIn(requestTypeAt(path), request)) {
        const withField = (value) => withValue(request, holder, field.name, value);
        for (const [allowed, refused] of limitsOf(field)) {
          await assertLimit(path, at, withField(allowed), withField(refused));
          count += 1;
        }
      }
    }
    assert.ok(count > 20, `${count} limits`);
  });

  test('a value or a list beyond a limit of the schema, and none at the limit', async () => {
    let count = 0;
    for (const path of paths) {
      const input = fullInput(path);
      for (const place of membersIn(input)) {
        const withMember = (value) => {
          const body = structuredClone(input);
          valueAt(body, place.slice(0, -1))[place.at(-1)] = value;
          return body;
        };
        for (const pair of limitsOfKind(kindAt(operationOf(path).body, place), valueAt(input, place))) {
          const bodies = pair.map(withMember);
          assert.deepEqual(
            bodies.map((body) => isAccepted(path, body)),
            [true, false],
            `${path} ${place}`,
          );
          const [allowed, refused] = bodies.map((body) => requestAt(path, body));
          await assertLimit(path, fieldPathAt(path, place), allowed, refused);
          count += 1;
        }
      }
    }
    assert.ok(count > 30, `${count} limits`);
  });

  test('an enum with a value that is not in the list', async () => {
    let count = 0;
    for (const path of paths) {
      for (const choice of [0, 1]) {
        const request = requestAt(path, fullInput(path, choice));
        for (const { at, field, holder } of valuesIn(requestTypeAt(path), request)) {
          if (!field.resolvedType?.values) continue;
          await assertRefused(path, withValue(request, holder, field.name, 1_000_000), [at]);
          count += 1;
        }
      }
    }
    assert.ok(count > 100, `${count} enums`);
  });

  test('bytes that are no message, and text that is not UTF-8', async () => {
    for (const path of paths) {
      const bytes = encode(methodAt(path), requestAt(path, fullInput(path)));
      const { id } = requestTypeAt(path).fields.organization_id;
      for (const hostile of [
        bytes.subarray(0, -1),
        Buffer.concat([bytes, bytesField(id, Buffer.from([0xff, 0xfe]))]),
      ]) {
        const error = await gateway.refusal(methodAt(path), hostile);
        assert.equal(error.code, code.INVALID_ARGUMENT, path);
        assert.match(error.details, /not a stampgate\.v1\.[A-Za-z0-9]+Request message/);
      }
    }
  });

  test('a request of more than 1 MiB', async () => {
    const tooLarge = bytesField(1000, Buffer.alloc(1 << 20));
    for (const path of paths) {
      const error = await gateway.refusal(methodAt(path), tooLarge);
      assert.equal(error.code, code.RESOURCE_EXHAUSTED, path);
    }
  });

  test('and upstream has received nothing', () => {
    const { requests, connections } = simulator.stats();
    assert.deepEqual([requests, connections], [0, 0]);
  });
});

/** The limits of a field: pairs of a value that is allowed and one that is refused. */
function limitsOf({ options }) {
  const limit = (name) => options?.[`(field).${name}`];
  const pairs = [];
  if (limit('minimum') !== undefined) pairs.push([limit('minimum'), limit('minimum') - 1]);
  if (limit('maximum') !== undefined) pairs.push([limit('maximum'), limit('maximum') + 1]);
  for (const name of ['max_bytes', 'max_characters']) {
    if (limit(name) !== undefined) pairs.push(['x'.repeat(limit(name)), 'x'.repeat(limit(name) + 1)]);
  }
  return pairs;
}

/** The schema's kind of the member at a place. */
const kindAt = (kind, place) =>
  place.reduce((inner, name) => (inner.kind === 'list' || inner.kind === 'map' ? inner.of : inner.members[name]), kind);

/**
 * The limits of a kind: pairs of a value that is allowed and one that is refused. A smallest number of characters is not
 * among them: it belongs to the form of a text, which upstream checks.
 */
function limitsOfKind({ kind, min, max, maxCharacters, minElements, maxElements }, value) {
  const number = kind === 'decimal' ? String : Number;
  const elements = (count) => Array.from({ length: count }, () => value[0]);
  const pairs = [];
  if (min > 0n) pairs.push([number(min), number(min - 1n)]);
  if (max !== undefined && max < 2n ** 31n - 1n) pairs.push([number(max), number(max + 1n)]);
  if (maxCharacters !== undefined) pairs.push(['x'.repeat(maxCharacters), 'x'.repeat(maxCharacters + 1)]);
  if (minElements !== undefined) pairs.push([elements(minElements), elements(minElements - 1)]);
  if (maxElements !== undefined) pairs.push([elements(maxElements), elements(maxElements + 1)]);
  return pairs;
}
