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

test("every input has the type of the library's method, and the types refuse wrong inputs", () => {
  const calls = [...allCalls()];
  assert.ok(calls.length > 900);

  const { method, input } = calls.find((call) => call.method === 'createWallet' && call.name === 'least');
  const changed = (name, change) => ({ method, name, input: { ...input, parameters: change({ ...input.parameters }) } });
  const wrong = [
    changed('an unknown member', (parameters) => ({ ...parameters, stranger: 'x' })),
    changed('no name', ({ walletName, ...parameters }) => parameters),
    changed('a number', (parameters) => ({ ...parameters, walletName: 7 })),
    changed('an unknown value', (parameters) => ({ ...parameters, accounts: [{ ...parameters.accounts[0], curve: 'X' }] })),
    { method, name: 'another type', input: { ...input, type: 'ACTIVITY_TYPE_CREATE_WALLET_V2' } },
  ];

  const errors = errorsIn([...calls, ...wrong]);
  const faults = errors.filter(({ call }) => !wrong.includes(call));
  assert.deepEqual(faults.map(({ call, text }) => `${call.method} ${call.name}: ${text}`), []);
  assert.deepEqual(new Set(errors.map(({ call }) => call.name)), new Set(wrong.map(({ name }) => name)));
});
