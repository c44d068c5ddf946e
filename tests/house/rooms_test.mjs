// The folders of the C++ code include each other only as the tables in the READMEs allow. Includes form no cycle. Each
// README lists the files of its folder. Plain mutexes are of the class whose use the compiler checks.
import assert from 'node:assert/strict';
import { dirname } from 'node:path';
import { describe, it } from 'node:test';
import { wholeTree } from '../paths.mjs';
import { fileTable, listed } from './file_tables.mjs';
import { faultsOf, readTree, writtenFiles } from './rooms.mjs';

const files = readTree(wholeTree());

/** The additional faults that `change`, applied to the text of the file, causes. */
function faultsWith(path, change) {
  assert.ok(files.has(path), path);
  const text = change(files.get(path));
  assert.notEqual(text, files.get(path));
  const before = new Set(faultsOf(files));
  return faultsOf(new Map(files).set(path, text)).filter((fault) => !before.has(fault));
}

const including = (header) => (text) => text.replace(/^#include "/m, `#include "${header}"\n$&`);

describe('the check of the folders', () => {
  it('finds no fault in the tree', () => assert.deepEqual(faultsOf(files), []));

  it('reports an include that no README allows', () => {
    const faults = faultsWith('gateway/policy/grant.cc', including('gateway/operations/operation_call.h'));
    assert.ok(faults.includes('gateway/policy uses gateway/operations, which no page allows'), faults.join('\n'));
    assert.ok(
      faults.some((fault) => fault.startsWith('a circle of folders: ')),
      faults.join('\n'),
    );
    assert.ok(
      faults.some((fault) => fault.startsWith('a circle of files: ')),
      faults.join('\n'),
    );
    assert.ok(
      faults.some((fault) => fault.endsWith('which its rule does not name')),
      faults.join('\n'),
    );
  });

  it('reports no include of the folder that every folder may use', () => {
    const faults = faultsWith('gateway/policy/grant.cc', including('base/time/duration.h'));
    assert.ok(
      faults.every((fault) => fault.endsWith('which its rule does not name')),
      faults.join('\n'),
    );
  });

  it('reports a cycle of files within a folder', () => {
    const faults = faultsWith('gateway/audit/record.cc', including('gateway/audit/log.h'));
    assert.ok(
      faults.some((fault) => fault.startsWith('a circle of files: ')),
      faults.join('\n'),
    );
  });

  it('reports a product file that includes a header for tests', () => {
    const faults = faultsWith('gateway/audit/log.cc', including('gateway/audit/testing.h'));
    assert.ok(
      faults.includes('gateway/audit/log.cc includes gateway/audit/testing.h, which is for tests'),
      faults.join('\n'),
    );
  });

  it('reports a rule that depends on a unit that its files do not include', () => {
    const unused = (text) => text.replace('        ":record",\n', '        ":record",\n        ":scan",\n');
    const faults = faultsWith('gateway/audit/BUILD.bazel', unused);
    assert.ok(
      faults.some((fault) => fault.endsWith('names //gateway/audit:scan and does not include it')),
      faults.join('\n'),
    );
  });

  it('reports a library that a file includes and its rule omits, and one that a rule names and no file includes', () => {
    const faults = faultsWith('gateway/audit/record.cc', (text) =>
      text.replace(/^#include "/m, '#include <curl/curl.h>\n$&'),
    );
    assert.deepEqual(faults, ['//gateway/audit:record includes //third_party:curl, which it does not name']);
    const unused = (text) => text.replace('"//third_party:absl"', '"//third_party:absl", "//third_party:yaml"');
    const [fault] = faultsWith('gateway/audit/BUILD.bazel', unused);
    assert.match(fault, /names \/\/third_party:yaml and does not include it$/);
  });

  it('reports a rule that depends on a rule that does not exist', () => {
    const missing = (text) => text.replace('        ":record",\n', '        ":nothing",\n        ":record",\n');
    const faults = faultsWith('gateway/audit/BUILD.bazel', missing);
    assert.ok(
      faults.some((fault) => fault.endsWith('names //gateway/audit:nothing, which is not there')),
      faults.join('\n'),
    );
  });

  it('reports a README that allows a folder that is not used', () => {
    const page = (text) => text.replace(/^(\| \[`gateway\/store`\].*\|).*\|$/m, '$1 `gateway/audit`, `base/disk` |');
    const faults = faultsWith('gateway/README.md', page);
    assert.ok(faults.includes('a page lets gateway/store use gateway/audit, which it does not'), faults.join('\n'));
    assert.ok(faults.includes('gateway/store uses base/threads, which no page allows'), faults.join('\n'));
  });
});

it('of the rooms, only base/threads has a std::mutex or a std::condition_variable', () => {
  const uses = [...files].filter(
    ([path, text]) => /\.(cc|h)$/.test(path) && /\bstd::(timed_mutex|mutex|condition_variable(_any)?)\b/.test(text),
  );
  assert.deepEqual(
    uses.map(([path]) => path),
    ['base/threads/mutex.h'],
  );
});

describe('rooms.mjs --write', () => {
  it('changes nothing in the tree', () => assert.deepEqual([...writtenFiles(files).keys()], []));

  for (const [what, path, change] of [
    ['a missing dependency', 'gateway/audit/BUILD.bazel', (text) => text.replace('        ":record",\n', '')],
    [
      'an unused one',
      'gateway/audit/BUILD.bazel',
      (text) => text.replace('        ":record",\n', '$&        ":scan",\n'),
    ],
    ['a missing library', 'gateway/audit/BUILD.bazel', (text) => text.replace('        "//third_party:absl",\n', '')],
    [
      'a column of a table',
      'gateway/README.md',
      (text) => text.replace(/^(\| \[`gateway\/store`\].*\|).*\|$/m, '$1 nothing |'),
    ],
  ]) {
    it(`restores ${what}`, () => {
      const text = change(files.get(path));
      assert.notEqual(text, files.get(path));
      assert.equal(writtenFiles(new Map(files).set(path, text)).get(path), files.get(path));
    });
  }
});

describe('the READMEs of the folders', () => {
  it('exist in every folder of code', () => {
    const folders = new Set([...files.keys()].filter((path) => path.endsWith('.h')).map(dirname));
    assert.deepEqual(
      [...folders].filter((folder) => !files.has(`${folder}/README.md`)),
      [],
    );
  });

  for (const folder of listed(files)) {
    // If this fails, run `node tests/house/file_tables.mjs`, which writes the lists.
    it(`list the files of ${folder}`, () =>
      assert.ok(files.get(`${folder}/README.md`).includes(fileTable(files, folder))));
  }
});
