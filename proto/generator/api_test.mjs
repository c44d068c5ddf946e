import assert from 'node:assert/strict';
import { join } from 'node:path';
import { describe, test } from 'node:test';
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

test('an operation without an entry is dangerous, and a submit counts as one that can move assets', () => {
  const look = [{ request: 'v1LookRequest', response: 'v1LookResponse', since: '2026-01-01' }];
  const messages = { v1LookRequest: { members: {} }, v1LookResponse: { members: {} } };
  const { files } = apiOf(catalogWith(messages, { '/public/v1/query/look': look }));
  const optionsOf = (name) =>
    Object.fromEntries(files.flatMap(({ service }) => service?.methods ?? []).find((one) => one.name === name).options);
  for (const name of ['Make', 'Look']) assert.equal(optionsOf(name).policy_class, 'POLICY_CLASS_DANGEROUS');
  assert.equal(optionsOf('Make').moves_unread_amount, 'true');
  assert.equal(optionsOf('Look').moves_unread_amount, undefined);
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

/** The fields of the parameters of the submit `make`, with these members and entries of the table of fields. */
function parametersOf(members, fields, lock = emptyLock()) {
  /** @type {import('./catalog.mjs').Release} */
  const release = { source: 'python', version: '0.2.1', day: '2026-10-21', integrity: '' };
  const intent = { members: { makeIntent: { kind: 'v1MakeIntent' } } };
  const catalog = { ...catalogWith({ v1MakeIntent: { members }, v1Intent: intent }), releases: [release] };
  const tables = Object.assign(Object.create(reviewed), { fields });
  const elements = makeApi(catalog, tables, new Lock(lock)).files.flatMap((file) => file.elements);
  const messages = /** @type {import('./api.mjs').Message[]} */ (elements.filter(({ kind }) => kind === 'message'));
  const fieldsOf = (message) => messages.find(({ name }) => name === message)?.fields;
  return {
    parameters: fieldsOf('MakeParameters'),
    earlier: fieldsOf('MakeIntent'),
    intent: fieldsOf('ActivityIntent'),
  };
}

const gone = ['python 0.2.1'];

describe('a member that replaces another one', () => {
  const members = {
    chainCaip2: { kind: 'string', required: true, gone },
    caip2: { kind: 'string', added: 'python 0.2.1' },
    memo: { kind: 'string', required: true, gone },
  };
  const isPublic = { text: 'The chain.', public: true };
  const fieldsWith = (entry) => {
    const { parameters } = parametersOf(members, {
      ...{ 'v1MakeIntent.chainCaip2': isPublic, 'v1MakeIntent.memo': { text: 'Free text.', public: true } },
      'v1MakeIntent.caip2': entry,
    });
    return Object.fromEntries(
      parameters.map(({ name, label, options, comment, deprecated }) => [
        name,
        { label, options, comment, deprecated },
      ]),
    );
  };

  test('names its field, and the day since which it does', () => {
    const { caip2 } = fieldsWith({ ...isPublic, replaces: 'chainCaip2' });
    assert.deepEqual(caip2.options, [
      ['(field).replaces', '"chain_caip2"'],
      ['(field).since', '"2026-10-21"'],
    ]);
    assert.deepEqual(fieldsWith(isPublic).caip2.options, []);
    assert.throws(() => fieldsWith({ replaces: 'chain' }), /v1MakeIntent.caip2 replaces chain, /);
  });

  test('keeps the other one in force, although upstream no longer publishes it', () => {
    const { chain_caip2: older, caip2: newer } = fieldsWith({ ...isPublic, replaces: 'chainCaip2' });
    assert.deepEqual(older, {
      ...{ label: '', options: [['(field).required', 'true']], deprecated: false },
      comment: 'Required, unless caip2 is set. The chain.',
    });
    assert.equal(newer.label, '');
    assert.equal(newer.comment, 'Required, unless chain_caip2 is set. The chain.');
  });

  test('differs from one that is gone: callers can omit this one, and its field keeps its type', () => {
    for (const name of ['chain_caip2', 'memo']) {
      const { label, options, comment, deprecated } = fieldsWith(isPublic)[name];
      assert.deepEqual([label, options, deprecated], ['', [], true]);
      assert.match(comment, /^Optional\. .* Upstream no longer publishes this field, since python 0\.2\.1\.$/);
    }
  });
});

test('the parameters of a method that was an intent without one are a message of their own', () => {
  const members = { name: { kind: 'string', required: true }, isNew: { kind: 'bool', required: true } };
  const known = { ...emptyLock(), messages: { MakeIntent: { name: 1, is_new: 2 } } };
  const shown = (fields) => fields.map(({ name, label, type, number }) => [name, label, type, number]);
  const split = parametersOf(members, {}, known);
  assert.deepEqual(shown(split.earlier), [
    ['name', '', 'string', 1],
    ['is_new', '', 'bool', 2],
  ]);
  assert.deepEqual(shown(split.parameters), [
    ['name', '', 'string', 1],
    ['is_new', 'optional', 'bool', 2],
  ]);
  assert.equal(split.intent[0].type, 'MakeIntent');

  const whole = parametersOf(members, {});
  assert.deepEqual([whole.earlier, whole.intent[0].type], [undefined, 'MakeParameters']);
});

test('a query requires its organization, also if no source states whether it is required', () => {
  const organizationId = { kind: 'string', required: null };
  const catalog = catalogWith(
    { v1LookRequest: { members: { organizationId, word: organizationId } }, v1LookResponse: { members: {} } },
    { '/public/v1/query/look': [{ request: 'v1LookRequest', response: 'v1LookResponse', since: '2026-01-01' }] },
  );
  const elements = apiOf(catalog).files.flatMap((file) => file.elements);
  const request = /** @type {import('./api.mjs').Message} */ (elements.find(({ name }) => name === 'LookRequest'));
  const required = request.fields.filter(({ options }) => options.some(([option]) => option === '(field).required'));
  assert.deepEqual(
    required.map(({ name }) => name),
    ['organization_id'],
  );
});
