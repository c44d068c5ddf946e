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

test('a text of a message that a request of a query and a result of a submit share is secret', () => {
  const using = (kind) => ({ members: { shared: { kind } } });
  const part = { members: { word: { kind: 'string' } } };
  const { files } = apiOf(catalogWith({
    v1Result: { members: { makeResult: { kind: 'v1MakeResult' } } },
    v1LookRequest: using('v1Part'),
    v1LookResponse: { members: {} },
    v1MakeResult: using('datav1Part'),
    // Both have the proto name Part, and the definition in the request makes its message.
    v1Part: part,
    datav1Part: part,
  }, {
    '/public/v1/query/look': [{ request: 'v1LookRequest', response: 'v1LookResponse', since: '2026-01-01' }],
  }));
  const parts = files.flatMap(({ elements }) => elements).filter(({ name }) => name === 'Part');
  assert.deepEqual(parts.map(({ fields }) => fields.map(({ options }) => options)), [[[['(field).secret', 'true']]]]);
});

test('the parameters of a submit have a message, also if they are no intent of an activity', () => {
  for (const parameters of ['v1MakeIntent', 'v1MakeBody']) {
    const elements = apiOf(catalogWith({}, {}, parameters)).files.flatMap((file) => file.elements);
    assert.ok(elements.some(({ name }) => name === 'MakeParameters'), parameters);
  }
});

test('a member of a result whose definition has another name is an error that names the definition', () => {
  const messages = { v1Result: { members: { part: { kind: 'v1Part' } } }, v1Part: { members: {} } };
  for (const parameters of ['v1MakeIntent', 'v1MakeBody']) {
    assert.throws(() => apiOf(catalogWith(messages, {}, parameters)),
      /an activity contains v1Part, whose name is not that of an intent or a result/);
  }
});
