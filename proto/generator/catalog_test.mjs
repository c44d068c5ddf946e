import assert from 'node:assert/strict';
import { test } from 'node:test';
import { emptyCatalog, mergeReleases } from './catalog.mjs';
import { readTypeScript } from './typescript.mjs';

const envelope = (name, type, extra = '') => `
  v1${name}Request: { type: "${type}"; timestampMs: string; organizationId: string;
    parameters: definitions["v1${name}Intent"]; ${extra} };`;

/** The text of a release with a query, and with one submit that has the parameters `members` and the type `type`. */
const types = ({ members = 'name: string;', type = 'ACTIVITY_TYPE_MAKE', query = true, definitions = '' } = {}) => `
export type paths = {
  ${query ? '"/public/v1/query/get_thing": { post: operations["S_GetThing"]; };' : ''}
  "/public/v1/submit/make": { post: operations["S_Make"]; };
  "/internal/anchor": { post: operations["S_Anchor"]; };
};
export type definitions = {
  v1Intent: { makeIntent?: definitions["v1MakeIntent"]; };
  v1Result: { makeResult?: definitions["v1MakeResult"]; };
  v1MakeIntent: { ${members} };
  v1MakeResult: { thingId: string; };
  ${envelope('Make', type, 'generateAppProofs?: boolean;')}
  v1GetThingRequest: { organizationId: string; /** @description Which thing. */ thingId?: string; };
  v1GetThingResponse: { colour: definitions["v1Colour"]; };
  v1Colour: "COLOUR_RED" | "COLOUR_BLUE";
  ${definitions}
};
export type operations = {
  ${['Make', 'GetThing']
    .map(
      (name) => `S_${name}: {
    parameters: { body: { body: definitions["v1${name}Request"]; }; };
    responses: { 200: { schema: definitions["v1${name === 'Make' ? 'Activity' : 'GetThing'}Response"]; }; };
  };`,
    )
    .join('\n')}
};`;

/** @returns {import('./catalog.mjs').Release} */
const release = (number) => ({ source: 'npm', version: String(number), day: `2026-01-0${number}`, integrity: '' });

/** The catalog after releases with these types, and the changes of the last one. */
function follow(...options) {
  const catalog = emptyCatalog();
  /** @type {string[]} */
  let changes = [];
  options.forEach((option, index) => {
    const one = { release: release(index + 1), published: readTypeScript(types(option)) };
    [{ sentences: changes }] = mergeReleases(catalog, [one]).changes;
  });
  return { catalog, changes };
}

test('the first release changes nothing, and its operations have its day', () => {
  const { catalog, changes } = follow({});
  assert.deepEqual(changes, []);
  assert.deepEqual(catalog.operations, {
    '/public/v1/query/get_thing': [
      { request: 'v1GetThingRequest', response: 'v1GetThingResponse', since: '2026-01-01' },
    ],
    '/public/v1/submit/make': [
      { type: 'ACTIVITY_TYPE_MAKE', parameters: 'v1MakeIntent', appProofs: true, since: '2026-01-01' },
    ],
  });
  assert.deepEqual(catalog.messages.v1MakeIntent, { members: { name: { kind: 'string', required: true } } });
  assert.deepEqual(catalog.enums.v1Colour, { values: { COLOUR_RED: {}, COLOUR_BLUE: {} } });
});

test("a catalog has no text of upstream's descriptions", () => {
  assert.ok(!JSON.stringify(follow({}).catalog).includes('Which thing'));
});

test('the same release again changes nothing', () => {
  const { changes } = follow({}, {});
  assert.deepEqual(changes, []);
});

test('a new member is named, and is not required of callers that do not know it', () => {
  const { catalog, changes } = follow({}, { members: 'name: string; size: string;' });
  assert.deepEqual(changes, ['v1MakeIntent.size is new: string, required.']);
  assert.deepEqual(catalog.messages.v1MakeIntent.members.size, { kind: 'string', added: 'npm 2' });
});

test('a member that becomes required stays optional for older callers, and this is named once', () => {
  const optional = { members: 'name?: string;' };
  const { catalog, changes } = follow(optional, {});
  assert.match(changes.join(), /^v1MakeIntent.name is required in this release/);
  assert.equal(catalog.messages.v1MakeIntent.members.name.required, undefined);
  assert.deepEqual(follow(optional, {}, {}).changes, []);
});

test('a shape that changes without a new version is named', () => {
  const { catalog, changes } = follow({}, { members: 'name: boolean;' });
  assert.deepEqual(changes, ['v1MakeIntent.name was of kind string, and now is bool. The type has no new version.']);
  assert.deepEqual(catalog.messages.v1MakeIntent.members.name, { kind: 'bool', kinds: 2, added: 'npm 2' });
});

test('a removed member and a removed operation stay in the catalog, marked', () => {
  const { catalog, changes } = follow({}, { members: '', query: false });
  assert.deepEqual(changes, [
    'v1MakeIntent.name is no longer published.',
    '/public/v1/query/get_thing is no longer published.',
  ]);
  assert.deepEqual(catalog.messages.v1MakeIntent.members.name.gone, ['npm 2']);
  assert.deepEqual(catalog.operations['/public/v1/query/get_thing'][0].gone, ['npm 2']);
});

test('a member that is gone and comes back has a mark, because callers could omit it meanwhile', () => {
  const { catalog, changes } = follow({}, { members: '' }, {});
  assert.deepEqual(changes, ['v1MakeIntent.name is published again.']);
  assert.deepEqual(catalog.messages.v1MakeIntent.members.name, { kind: 'string', required: true, added: 'npm 3' });
});

test('what is published again loses its mark, and is named', () => {
  const { catalog, changes } = follow({}, { members: '', query: false }, {});
  assert.equal(catalog.messages.v1MakeIntent.members.name.gone, undefined);
  assert.equal(catalog.operations['/public/v1/query/get_thing'][0].gone, undefined);
  assert.ok(changes.includes('v1MakeIntent.name is published again.'));
  assert.ok(changes.includes('/public/v1/query/get_thing is published again.'));
});

test('a new version of an activity type is a version of the same operation', () => {
  const { catalog, changes } = follow({}, { type: 'ACTIVITY_TYPE_MAKE_V2' });
  assert.deepEqual(changes, ['/public/v1/submit/make has a new version: activity type ACTIVITY_TYPE_MAKE_V2.']);
  assert.deepEqual(
    catalog.operations['/public/v1/submit/make'].map(({ type, since }) => [type, since]),
    [
      ['ACTIVITY_TYPE_MAKE', '2026-01-01'],
      ['ACTIVITY_TYPE_MAKE_V2', '2026-01-02'],
    ],
  );
});

test('listed texts are an enum of their member', () => {
  const { catalog } = follow({ members: 'unit: "wei" | "gwei" | null;' });
  assert.equal(catalog.messages.v1MakeIntent.members.unit.kind, 'v1MakeIntent.unit');
  assert.deepEqual(catalog.enums['v1MakeIntent.unit'], { values: { wei: {}, gwei: {} } });
});

test('each format has its kind', () => {
  const member = (name, format, type) => `\n/** Format: ${format} */\n${name}: ${type};`;
  const { catalog } = follow({
    members:
      member('a', 'uint64', 'string') +
      member('b', 'int64', 'string') +
      member('c', 'byte', 'string') +
      member('d', 'int32', 'number') +
      member('e', 'int64', 'number') +
      'f: boolean[]; g: { [key: string]: string };',
  });
  const kinds = Object.values(catalog.messages.v1MakeIntent.members).map(({ kind }) => kind);
  assert.deepEqual(kinds, ['uint64', 'int64', 'bytes', 'int32', 'uint32', 'bool[]', 'map']);
});

test('a type or a format that the generator does not know is an error that names the member', () => {
  assert.throws(() => follow({ members: 'a: number;' }), /v1MakeIntent.a: the generator does not know the format/);
  assert.throws(() => follow({ members: 'a: Date;' }), /v1MakeIntent.a: the generator does not know the type Date/);
});

test('a member whose definition is another name of a kind is of that kind', () => {
  const definitions = 'v1Colours: definitions["v1Colour"][]; v1Hue: definitions["v1Colour"]; v1Words: string[];';
  const members = 'many: definitions["v1Colours"]; one: definitions["v1Hue"]; words: definitions["v1Words"];';
  const { messages } = follow({ members, definitions }).catalog;
  const kinds = Object.values(messages.v1MakeIntent.members).map(({ kind }) => kind);
  assert.deepEqual(kinds, ['v1Colour[]', 'v1Colour', 'string[]']);
  assert.throws(
    () => follow({ members: 'many: definitions["v1Colours"][];', definitions }),
    /v1MakeIntent\.many: a proto cannot have a list of lists/,
  );
});
