import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { root } from '../../tests/paths.mjs';
import { makeApi } from './api.mjs';
import { Lock, emptyLock } from './lock.mjs';
import { Reviewed } from './reviewed.mjs';

const reviewed = new Reviewed(join(root, 'proto/reviewed'));

/** A catalog with the submit `make`. */
const catalogWith = (messages, operations = {}, parameters = 'v1MakeIntent') => ({
  releases: [],
  operations: {
    '/public/v1/submit/make': [{ type: 'ACTIVITY_TYPE_MAKE', parameters, since: '2026-01-01' }],
    ...operations,
  },
  messages: { v1Intent: { members: {} }, v1Result: { members: {} }, [parameters]: { members: {} }, ...messages },
  enums: {},
});
const apiOf = (catalog) => makeApi(catalog, reviewed, new Lock(emptyLock()));

/**
 * The options of the field `word` of the message that two definitions share: the request of a query uses v1Part, and the
 * answer, or the result of a submit, uses datav1Part. `fields` are the entries of the table of fields.
 */
function sharedOptions({ inSubmit, fields }) {
  const using = (kind) => ({ members: { shared: { kind } } });
  const part = { members: { word: { kind: 'string' } } };
  const catalog = catalogWith(
    {
      v1Result: { members: { makeResult: { kind: 'v1MakeResult' } } },
      v1LookRequest: using('v1Part'),
      v1LookResponse: inSubmit ? { members: {} } : using('datav1Part'),
      v1MakeResult: inSubmit ? using('datav1Part') : { members: {} },
      // Both have the proto name Part, and the definition in the request makes its message.
      v1Part: part,
      datav1Part: part,
    },
    {
      '/public/v1/query/look': [{ request: 'v1LookRequest', response: 'v1LookResponse', since: '2026-01-01' }],
    },
  );
  const tables = Object.assign(Object.create(reviewed), { fields });
  const { files } = makeApi(catalog, tables, new Lock(emptyLock()));
  const parts = files.flatMap(({ elements }) => elements).filter(({ name }) => name === 'Part');
  return parts.map((message) => message.fields.map(({ options }) => options));
}

const SECRET = [[[['(field).secret', 'true']]]];
const PUBLIC = [[[]]];

test('a text of a message that a request of a query and a result of a submit share is secret', () => {
  assert.deepEqual(sharedOptions({ inSubmit: true, fields: {} }), SECRET);
});

test('a field of a shared message is public only if the table says so of both definitions', () => {
  const isPublic = { public: true };
  assert.deepEqual(sharedOptions({ inSubmit: true, fields: { word: isPublic } }), PUBLIC);
  assert.deepEqual(sharedOptions({ inSubmit: true, fields: { 'v1Part.word': isPublic } }), SECRET);
  assert.deepEqual(sharedOptions({ inSubmit: true, fields: { 'datav1Part.word': isPublic } }), SECRET);
});

test('a field of a shared message is secret if the table says so of one of the definitions', () => {
  assert.deepEqual(sharedOptions({ inSubmit: false, fields: {} }), PUBLIC);
  for (const definition of ['v1Part', 'datav1Part']) {
    assert.deepEqual(sharedOptions({ inSubmit: false, fields: { [`${definition}.word`]: { secret: true } } }), SECRET);
  }
});

test('a request has the limits of the table, and a response has none', () => {
  const using = { members: { word: { kind: 'string' } } };
  const catalog = catalogWith(
    { v1LookRequest: using, v1LookResponse: using },
    {
      '/public/v1/query/look': [{ request: 'v1LookRequest', response: 'v1LookResponse', since: '2026-01-01' }],
    },
  );
  const tables = Object.assign(Object.create(reviewed), { fields: { word: { max_characters: 3 } } });
  const elements = makeApi(catalog, tables, new Lock(emptyLock())).files.flatMap((file) => file.elements);
  const optionsIn = (message) =>
    elements.find(({ name }) => name === message).fields.find(({ name }) => name === 'word').options;
  assert.deepEqual(optionsIn('LookRequest'), [['(field).max_characters', '3']]);
  assert.deepEqual(optionsIn('LookResponse'), []);
});

test('the parameters of a submit have a message, also if they are no intent of an activity', () => {
  for (const parameters of ['v1MakeIntent', 'v1MakeBody']) {
    const elements = apiOf(catalogWith({}, {}, parameters)).files.flatMap((file) => file.elements);
    assert.ok(
      elements.some(({ name }) => name === 'MakeParameters'),
      parameters,
    );
  }
});

test('a member of a result whose definition has another name is an error that names the definition', () => {
  const messages = { v1Result: { members: { part: { kind: 'v1Part' } } }, v1Part: { members: {} } };
  for (const parameters of ['v1MakeIntent', 'v1MakeBody']) {
    assert.throws(
      () => apiOf(catalogWith(messages, {}, parameters)),
      /an activity contains v1Part, whose name is not that of an intent or a result/,
    );
  }
});

test('a member that replaces another one names its field, and the day since which it does', () => {
  /** @type {import('./catalog.mjs').Release} */
  const release = { source: 'python', version: '0.2.1', day: '2026-10-21', integrity: '' };
  const members = {
    chainCaip2: { kind: 'string', gone: ['python 0.2.1'] },
    caip2: { kind: 'string', added: 'python 0.2.1' },
  };
  const catalog = { ...catalogWith({ v1MakeIntent: { members } }), releases: [release] };
  const optionsWith = (entry) => {
    const tables = Object.assign(Object.create(reviewed), { fields: { 'v1MakeIntent.caip2': entry } });
    const elements = makeApi(catalog, tables, new Lock(emptyLock())).files.flatMap((file) => file.elements);
    const message = /** @type {import('./api.mjs').Message} */ (elements.find(({ name }) => name === 'MakeParameters'));
    return message.fields.find(({ name }) => name === 'caip2').options;
  };
  assert.deepEqual(optionsWith({ text: 'The chain.', public: true, replaces: 'chainCaip2' }), [
    ['(field).replaces', '"chain_caip2"'],
    ['(field).since', '"2026-10-21"'],
  ]);
  assert.deepEqual(optionsWith({ text: 'The chain.', public: true }), []);
  assert.throws(() => optionsWith({ replaces: 'chain' }), /v1MakeIntent.caip2 replaces chain, /);
});
