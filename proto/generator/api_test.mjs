import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { root } from '../../tests/paths.mjs';
import { makeApi } from './api.mjs';
import { Lock, emptyLock } from './lock.mjs';
import { Reviewed } from './reviewed.mjs';

const reviewed = new Reviewed(join(root, 'proto/reviewed'));

test('a text of a message that a request of a query and a result of a submit share is secret', () => {
  const using = (kind) => ({ members: { shared: { kind } } });
  const part = { members: { word: { kind: 'string' } } };
  const catalog = {
    releases: [],
    operations: {
      '/public/v1/query/look': [{ request: 'v1LookRequest', response: 'v1LookResponse', since: '2026-01-01' }],
      '/public/v1/submit/make': [{ type: 'ACTIVITY_TYPE_MAKE', parameters: 'v1MakeIntent', since: '2026-01-01' }],
    },
    messages: {
      v1Intent: { members: { makeIntent: { kind: 'v1MakeIntent' } } },
      v1Result: { members: { makeResult: { kind: 'v1MakeResult' } } },
      v1LookRequest: using('v1Part'),
      v1LookResponse: { members: {} },
      v1MakeIntent: { members: {} },
      v1MakeResult: using('datav1Part'),
      // Both have the proto name Part, and the definition in the request makes its message.
      v1Part: part,
      datav1Part: part,
    },
    enums: {},
  };
  const { files } = makeApi(catalog, reviewed, new Lock(emptyLock()));
  const parts = files.flatMap(({ elements }) => elements).filter(({ name }) => name === 'Part');
  assert.deepEqual(parts.map(({ fields }) => fields.map(({ options }) => options)), [[[['(field).secret', 'true']]]]);
});
