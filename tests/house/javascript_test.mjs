// tests/lint fails for JavaScript that is not in prettier's form, and for a type error that is not recorded.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { installed, wholeTree } from '../paths.mjs';
import { errorsOf, faultsOf, lowered } from './types.mjs';

const tree = wholeTree();
// Not the link in .bin, because Bazel runs tests with an option that keeps links.
const prettier = join(
  installed('tools', 'third_party/npm/package-lock.json'),
  'node_modules/prettier/bin/prettier.cjs',
);

describe("prettier with the tree's options", () => {
  const check = (text) => {
    const options = { cwd: tree, input: text, encoding: /** @type {const} */ ('utf8') };
    const { stdout, stderr } = spawnSync(
      process.execPath,
      [prettier, '--check', '--stdin-filepath', 'tests/paths.mjs'],
      options,
    );
    return stderr + stdout;
  };

  it('accepts its form', () => assert.equal(check("const text = 'a';\n"), ''));

  it('refuses another form', () => {
    const fault = '(stdin)\n';
    assert.equal(check('const text = "a";\n'), fault);
    assert.equal(check(`const text = '${'a'.repeat(50)}' +\n  '${'b'.repeat(20)}';\n`), fault);
  });
});

describe('the types', () => {
  const path = 'tests/count_xml.mjs';
  const text = readFileSync(join(tree, path), 'utf8');
  const errors = errorsOf([path], new Map([[path, `${text}\nfoundNowhere.call(1);\n`]]));

  it('of a file without errors have no fault', () => {
    assert.deepEqual(faultsOf(errorsOf([path]), {}), []);
  });

  it('have a fault if a file has an error that is not recorded', () => {
    const [fault, ...more] = faultsOf(errors, {});
    assert.match(fault, /^tests\/count_xml\.mjs: 1 type errors, 0 are recorded\n.*error TS2304: .*'foundNowhere'/);
    assert.deepEqual(more, []);
    assert.deepEqual(faultsOf(errors, { [path]: 1 }), []);
  });

  it('have a fault if a file has fewer errors than recorded, until the record is lowered', () => {
    const record = { [path]: 2, 'tests/gone.mjs': 3 };
    assert.deepEqual(
      faultsOf(errors, record).map((fault) => fault.replace(/:.*\n/, '')),
      [path, 'tests/gone.mjs'],
    );
    assert.deepEqual(lowered(errors, record), { [path]: 1 });
    assert.deepEqual(faultsOf(errors, lowered(errors, record)), []);
  });

  it('never raise the record', () => assert.deepEqual(lowered(errors, {}), {}));
});
