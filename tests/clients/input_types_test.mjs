// Checks the inputs that are made from the simulator's schema against the types of upstream's client library: the library
// itself posts every input, so only its types show whether the schema is right.
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { methods } from './official_client.mjs';
import { inputsOf } from './operation_inputs.mjs';
import { load } from './packages.mjs';

const ts = load('typescript');

const OPTIONS = {
  ...{ strict: true, exactOptionalPropertyTypes: true, skipLibCheck: true, noEmit: true, types: [] },
  ...{ target: ts.ScriptTarget.ES2022, lib: ['lib.es2022.d.ts'], module: ts.ModuleKind.ESNext },
  moduleResolution: ts.ModuleResolutionKind.Bundler,
};

/**
 * Compiles calls of the library's methods.
 * @param {{method: string, input: object}[]} calls
 * @returns {{call: object, text: string}[]} the compiler's errors
 */
function errorsIn(calls) {
  const folder = mkdtempSync(join(tmpdir(), 'inputs-'));
  try {
    const file = join(folder, 'inputs.ts');
    const library = load.resolve('@turnkey/http').replace(/\.js$/, '');
    const head = `import type { TurnkeyClient } from ${JSON.stringify(library)}; declare const client: TurnkeyClient;`;
    const lines = calls.map(({ method, input }) => `client.${method}(${JSON.stringify(input)});`);
    writeFileSync(file, [head, ...lines].join('\n'));
    return ts.getPreEmitDiagnostics(ts.createProgram([file], OPTIONS)).map(({ file: source, start, messageText }) => ({
      call: calls[source.getLineAndCharacterOfPosition(start).line - 1],
      text: ts.flattenDiagnosticMessageText(messageText, '\n'),
    }));
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** The inputs of all methods. Two inputs with every member have two members of each oneof. */
function* allCalls() {
  const organizationId = 'organization';
  for (const [path, method] of methods) {
    for (const { name, input } of inputsOf(path, { organizationId })) yield { method, name, input };
    const [{ input }] = inputsOf(path, { organizationId, choice: 1 });
    yield { method, name: 'full, with another choice', input };
  }
}

/** The least inputs of all methods without one of their members each. */
function* incompleteCalls() {
  for (const [path, method] of methods) {
    const [, { input }] = inputsOf(path, { organizationId: 'organization' });
    for (const place of places(input)) {
      const copy = structuredClone(input);
      const holder = place.slice(0, -1).reduce((value, name) => value[name], copy);
      delete holder[place.at(-1)];
      yield { method, name: `without ${place.join('.')}`, input: copy };
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

test("every input has the type of the library's method, and the types refuse wrong inputs", () => {
  const calls = [...allCalls()];
  assert.ok(calls.length > 900);

  const { method, input } = calls.find((call) => call.method === 'createWallet' && call.name === 'least');
  const changed = (name, change) => ({ method, name, input: { ...input, parameters: change({ ...input.parameters }) } });
  const wrong = [
    ...incompleteCalls(),
    changed('an unknown member', (parameters) => ({ ...parameters, stranger: 'x' })),
    changed('a number', (parameters) => ({ ...parameters, walletName: 7 })),
    changed('an unknown value', ({ accounts: [account], ...others }) => ({
      ...{ ...others, accounts: [{ ...account, curve: 'X' }] },
    })),
    { method, name: 'another type', input: { ...input, type: 'ACTIVITY_TYPE_CREATE_WALLET_V2' } },
  ];
  assert.ok(wrong.length > 800);

  const errors = errorsIn([...calls, ...wrong]);
  const faults = errors.filter(({ call }) => !wrong.includes(call));
  assert.deepEqual(faults.map(({ call, text }) => `${call.method} ${call.name}: ${text}`), []);
  const refused = new Set(errors.map(({ call }) => call));
  const accepted = wrong.filter((call) => !refused.has(call));
  assert.deepEqual(accepted.map((call) => `${call.method} ${call.name}`), []);
});
