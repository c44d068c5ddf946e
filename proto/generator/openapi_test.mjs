import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readOpenApi } from './openapi.mjs';
import { npmRelease, pythonRelease, typesVersions } from './pinned.mjs';

const reference = (name) => ({ $ref: `#/definitions/${name}` });

const document = {
  swagger: '2.0',
  paths: {
    '/public/v1/query/get_thing': {
      post: {
        operationId: 'PublicApiService_GetThing',
        parameters: [{ name: 'body', in: 'body', required: true, schema: reference('v1GetThingRequest') }],
        responses: { 200: { schema: reference('v1GetThingResponse') }, default: { schema: reference('rpcStatus') } },
      },
    },
    '/tkhq/api/v1/noop': { post: { responses: { 200: { schema: {} } } } },
  },
  definitions: {
    v1GetThingRequest: {
      type: 'object',
      properties: {
        organizationId: { type: 'string', description: 'Which organization.' },
        size: { type: 'string', format: 'uint64' },
        count: { type: 'integer', format: 'int64' },
        deep: { type: 'boolean' },
        unit: { type: 'string', enum: ['wei', 'gwei'] },
        turnkey: { type: 'string' },
      },
      required: ['organizationId', 'unit'],
    },
    v1GetThingResponse: {
      type: 'object',
      properties: {
        colours: { type: 'array', items: reference('v1Colour') },
        part: { description: 'With a description.', allOf: [reference('v1Part')] },
        names: { type: 'object', additionalProperties: { type: 'string' } },
        anything: { type: 'object' },
      },
    },
    v1Colour: { type: 'string', enum: ['COLOUR_RED', 'COLOUR_BLUE'], default: 'COLOUR_RED' },
    v1Part: { type: 'object' },
    protobufAny: { type: 'object', properties: { '@type': { type: 'string' } }, additionalProperties: {} },
  },
};

test('reads operations, messages, enums and aliases', () => {
  const { operations, messages, enums, aliases } = readOpenApi(document);
  assert.deepEqual(operations, [
    { path: '/public/v1/query/get_thing', request: 'v1GetThingRequest', response: 'v1GetThingResponse' },
  ]);
  assert.deepEqual(messages.get('v1GetThingRequest').members, [
    { name: 'organizationId', required: true, kind: { kind: 'string', format: undefined } },
    { name: 'size', required: false, kind: { kind: 'string', format: 'uint64' } },
    { name: 'count', required: false, kind: { kind: 'number', format: 'int64' } },
    { name: 'deep', required: false, kind: { kind: 'bool' } },
    { name: 'unit', required: true, kind: { kind: 'literals', values: ['wei', 'gwei'] } },
    { name: '{operator}', required: false, kind: { kind: 'string', format: undefined } },
  ]);
  assert.deepEqual(
    messages.get('v1GetThingResponse').members.map(({ kind }) => kind),
    [
      { kind: 'list', of: { kind: 'definition', name: 'v1Colour' } },
      { kind: 'definition', name: 'v1Part' },
      { kind: 'map' },
      { kind: 'json' },
    ],
  );
  assert.deepEqual(messages.get('v1Part').members, []);
  assert.deepEqual([...enums], [['v1Colour', { values: ['COLOUR_RED', 'COLOUR_BLUE'] }]]);
  assert.deepEqual([...aliases], [['protobufAny', { kind: 'json' }]]);
});

test('a type that the reader does not know is an error that names the member', () => {
  const definitions = { v1Part: { type: 'object', properties: { file: { type: 'file' } } } };
  assert.throws(() => readOpenApi({ paths: {}, definitions }), /v1Part.file: .* the type file/);
});

// Upstream makes the types for TypeScript from the document, so that the document can be made from the types.

function schemaOf(kind) {
  switch (kind.kind) {
    case 'definition':
      return reference(kind.name);
    case 'list':
      return { type: 'array', items: schemaOf(kind.of) };
    case 'literals':
      return { type: 'string', enum: kind.values };
    case 'map':
      return { type: 'object', additionalProperties: { type: 'string' } };
    case 'json':
      return { type: 'object', additionalProperties: {} };
    default:
      return { type: { string: 'string', bool: 'boolean', number: 'integer' }[kind.kind], format: kind.format };
  }
}

/** @param {import('./published.mjs').Published} published */
function documentOf({ operations, messages, enums, aliases }) {
  const original = (name) => name.replace('{operator}', 'turnkey');
  const object = ({ members }) => ({
    type: 'object',
    properties: Object.fromEntries(members.map(({ name, kind }) => [original(name), schemaOf(kind)])),
    required: members.filter(({ required }) => required).map(({ name }) => original(name)),
  });
  const post = ({ request, response }) => ({
    parameters: [{ name: 'body', in: 'body', schema: reference(request) }],
    responses: { 200: { schema: reference(response) } },
  });
  return {
    paths: Object.fromEntries(operations.map((one) => [one.path, { post: post(one) }])),
    definitions: Object.fromEntries([
      ...[...messages].map(([name, message]) => [name, object(message)]),
      ...[...enums].map(([name, { values }]) => [name, { type: 'string', enum: values }]),
      ...[...aliases].map(([name, kind]) => [name, schemaOf(kind)]),
    ]),
  };
}

test('a document with the facts of another source has the same facts', () => {
  for (const { release, published } of [...typesVersions.map((version) => npmRelease(version)), pythonRelease()]) {
    const read = readOpenApi(JSON.parse(JSON.stringify(documentOf(published))));
    // A format that is unset and one that is absent are the same.
    const facts = ({ operations, messages, enums, aliases }) =>
      JSON.parse(JSON.stringify([operations, [...messages], [...enums], [...aliases]]));
    assert.deepEqual(facts(read), facts(published), release.version);
  }
});
