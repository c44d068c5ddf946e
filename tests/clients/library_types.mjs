// Compiles statements of TypeScript with the types of upstream's client library. The library itself posts every input
// and returns every answer, so only its types show whether an input or an answer is right.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { load } from './packages.mjs';

const ts = load('typescript');

const OPTIONS = {
  ...{ strict: true, exactOptionalPropertyTypes: true, skipLibCheck: true, noEmit: true, types: [] },
  ...{ target: ts.ScriptTarget.ES2022, lib: ['lib.es2022.d.ts'], module: ts.ModuleKind.ESNext },
  moduleResolution: ts.ModuleResolutionKind.Bundler,
};

/** What the statements can use. */
const HEAD = [
  `import type { TurnkeyClient as Client } from ${JSON.stringify(load.resolve('@turnkey/http').replace(/\.js$/, ''))};`,
  'declare const client: Client;',
  'type Answer<Name extends keyof Client> = Client[Name] extends (input: never) => Promise<infer Found> ? Found : never;',
  'type Result<Name extends keyof Client> = Answer<Name> extends { activity: { result: infer Found } } ? Found : never;',
];

/** @typedef {{name: string, text: string}} Statement `text`: one line */

/** That a method accepts an input. `json` is JSON text. @returns {Statement} */
export const call = (method, name, json) => ({ name: `${method} ${name}`, text: `client.${method}(${json});` });

/** That a query's method returns an answer. */
export const answer = (method, name, json) => ({
  name: `${method} answers ${name}`,
  text: `(${json}) satisfies Answer<'${method}'>;`,
});

/** That the activity that a submit's method returns has a result. */
export const result = (method, name, json) => ({
  name: `${method} has ${name}`,
  text: `(${json}) satisfies Result<'${method}'>;`,
});

/**
 * @param {Statement[]} statements
 * @returns {Map<Statement, string>} the compiler's errors by the statements that have one
 */
export function errorsOf(statements) {
  const folder = mkdtempSync(join(tmpdir(), 'types-'));
  try {
    const file = join(folder, 'statements.ts');
    writeFileSync(file, [...HEAD, ...statements.map(({ text }) => text)].join('\n'));
    const errors = ts.getPreEmitDiagnostics(ts.createProgram([file], OPTIONS));
    return new Map(errors.map((error) => [statementOf(error, statements), textOf(error)]));
  } finally {
    rmSync(folder, { recursive: true });
  }
}

const textOf = ({ messageText }) => ts.flattenDiagnosticMessageText(messageText, '\n');

function statementOf(error, statements) {
  const line = error.file?.getLineAndCharacterOfPosition(error.start).line ?? -1;
  const statement = statements[line - HEAD.length];
  if (statement === undefined) throw new Error(`line ${line} does not compile: ${textOf(error)}`);
  return statement;
}
