// Each promise names tests that exist, and the README has only promises of tests/PROMISES.md.
import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { it } from 'node:test';
import { wholeTree } from '../paths.mjs';

const tree = wholeTree();

/** The rows of the table of promises on a page. */
function promisesOn(page) {
  const [, table] = readFileSync(join(tree, page), 'utf8').split('| promise | test |\n|---|---|\n');
  return /^(\|.*\n)+/.exec(table)[0].trim().split('\n');
}

const exists = (test) =>
  ['.', 'tests/end_to_end', 'tests/clients'].some((folder) => existsSync(join(tree, folder, test)));

const all = promisesOn('tests/PROMISES.md');

it('each promise names tests, and all of them exist', () => {
  assert.ok(all.length >= 18);
  for (const promise of all) {
    const tests = [...promise.matchAll(/`([\w/]+_test\.(?:mjs|cc))`/g)].map(([, test]) => test);
    assert.notEqual(tests.length, 0, promise);
    assert.deepEqual(
      tests.filter((test) => !exists(test)),
      [],
      promise,
    );
  }
  assert.ok(!exists('no_such_test.mjs'));
});

it('the README has only promises of that page', () => {
  const shown = promisesOn('README.md');
  assert.ok(shown.length >= 8);
  assert.deepEqual(
    shown.filter((promise) => !all.includes(promise)),
    [],
  );
});
