// Compares the simulator's schema with the types of upstream's client library, for all operations.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { stringify } from '../simulator/json.mjs';
import { made } from '../simulator/made.mjs';
import { answer, call, errorsOf, result } from './library_types.mjs';
import { methods } from './official_client.mjs';
import { inputsOf, operationOf, operationsOfLibrary as operations } from './operation_inputs.mjs';

const organizationId = 'organization';

/** The inputs of all methods. Two inputs with every member have two members of each oneof. */
function* calls() {
  for (const [path, method] of methods) {
    for (const { name, input } of inputsOf(path, { organizationId, operations }))
      yield call(method, name, JSON.stringify(input));
    const [{ input }] = inputsOf(path, { organizationId, operations, choice: 1 });
    yield call(method, 'full, with another choice', JSON.stringify(input));
  }
}

/** The least inputs of all methods, without one of their members each. */
function* incompleteCalls() {
  for (const [path, method] of methods) {
    const [, { input }] = inputsOf(path, { organizationId, operations });
    for (const place of places(input)) {
      const copy = structuredClone(input);
      delete place.slice(0, -1).reduce((value, name) => value[name], copy)[place.at(-1)];
      yield call(method, `without ${place.join('.')}`, JSON.stringify(copy));
    }
  }
}

/** The names and indexes that lead to each member of objects in a value. Of a list, it uses the first element. */
function* places(value) {
  for (const [name, inner] of Object.entries(value)) {
    if (Array.isArray(value) && name !== '0') continue;
    if (!Array.isArray(value)) yield [name];
    if (typeof inner === 'object') for (const place of places(inner)) yield [name, ...place];
  }
}

/** The answers of all queries and the results of all submits, each with the members of `added` too. */
function* answers(name, { choice = 0, added = {} } = {}) {
  for (const [path, method] of methods) {
    const { type, answer: answerKind, result: resultKind, resultKey } = operationOf(path, operations);
    const kind = type === undefined ? answerKind : resultKind;
    // The result of a vote is that of any activity, and the types of empty results accept any member.
    if (kind === undefined || Object.keys(kind.members).length === 0) continue;
    const content = { ...made(kind, 'answer', { choice }), ...added };
    if (type === undefined) yield answer(method, name, stringify(content));
    else yield result(method, name, stringify({ [resultKey]: content }));
  }
}

test('the types have the same members, kinds and required members as the schema', () => {
  const all = [...calls(), ...answers('every member'), ...answers('another choice', { choice: 1 })];
  const right = [...new Map(all.map((statement) => [statement.text, statement])).values()];

  const operation = operationOf('/public/v1/submit/create_wallet', operations);
  const [, { input }] = inputsOf(operation.path, { organizationId, operations });
  const changed = (name, change) => {
    const body = structuredClone(input);
    change(body);
    return call('createWallet', name, JSON.stringify(body));
  };
  const wrong = [
    ...incompleteCalls(),
    ...[...answers('a stranger', { added: { stranger: 1 } })].filter((_, index) => index % 10 === 0),
    changed('with an unknown member', ({ parameters }) => (parameters.stranger = 'x')),
    changed('with a number', ({ parameters }) => (parameters.walletName = 7)),
    changed('with an unknown value', ({ parameters }) => (parameters.accounts[0].curve = 'CURVE_X')),
    changed('with another type', (body) => (body.type += '_V2')),
  ];
  assert.ok(right.length > 1_000 && wrong.length > 800, `${right.length} and ${wrong.length}`);

  const errors = errorsOf([...right, ...wrong]);
  const faults = right.filter((each) => errors.has(each)).map((each) => `${each.name}: ${errors.get(each)}`);
  assert.deepEqual(faults, []);
  assert.deepEqual(
    wrong.filter((each) => !errors.has(each)).map(({ name }) => name),
    [],
  );
});
