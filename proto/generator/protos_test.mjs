import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { wholeTree } from '../../tests/paths.mjs';
import { emptyCatalog, mergeReleases } from './catalog.mjs';
import { sourcesOf } from './method_pages.mjs';
import { npmRelease } from './pinned.mjs';
import { State } from './state.mjs';

const state = new State(join(wholeTree(), 'proto'));
const { texts, unreviewed } = state.make();

test('the protos are those that the generator makes from the tables', () => {
  assert.deepEqual(state.stale(texts), []);
});

test('the tables have a text for every element', () => {
  assert.deepEqual(unreviewed, []);
});

test('the catalog has every fact of the newest release in npm that the project follows', () => {
  const { version } = state.catalog.releases.findLast(({ source }) => source === 'npm');
  const alone = emptyCatalog();
  mergeReleases(alone, [npmRelease(version)]);
  for (const [path, versions] of Object.entries(alone.operations)) {
    for (const version of versions) {
      const known = state.catalog.operations[path].find(({ type }) => type === version.type);
      const { since: _, gone: __, behind: ___, ...facts } = known;
      assert.deepEqual({ ...facts, since: version.since }, version, path);
    }
  }
  for (const [name, { members }] of Object.entries(alone.messages)) {
    for (const [member, { kind }] of Object.entries(members)) {
      assert.equal(state.catalog.messages[name].members[member].kind, kind, `${name}.${member}`);
    }
  }
});

test('the tables name only definitions and members that upstream publishes', () => {
  const { messages, enums, operations } = state.reviewed.complete(state.catalog);
  const members = new Set(
    Object.entries(messages).flatMap(([name, message]) =>
      Object.keys(message.members).flatMap((member) => [member, `${name}.${member}`]),
    ),
  );
  const unknown = [
    ...Object.keys(state.reviewed.fields).filter((key) => !members.has(key)),
    ...Object.keys(state.reviewed.types).filter((key) => !(key in messages)),
    ...Object.keys(state.reviewed.enums).filter((key) => !(key in enums)),
  ];
  assert.deepEqual(unknown, []);
  const segments = Object.keys(operations).map((path) => path.split('/').pop());
  assert.deepEqual(Object.keys(state.reviewed.operations).sort(), segments.sort());
});

test('the table of disagreements names only elements that upstream publishes, and has a reason for each', () => {
  const { operations, messages } = state.catalog;
  for (const [key, { reason }] of Object.entries(state.reviewed.sources)) {
    const [definition, member] = key.split('.');
    assert.ok(key in operations || messages[definition]?.members[member], key);
    assert.match(reason, /^[A-Z].*\.$/s, key);
  }
});

test('the front page states how many operations there are, and the number and the day of each source', () => {
  const registries = { npm: 'npm', python: 'PyPI', crate: 'crates.io' };
  const sources = sourcesOf(state.catalog).map(
    ({ source, day, count }) => `${count} in ${registries[source]} as of ${day}`,
  );
  const count = Object.keys(state.catalog.operations).length;
  const sentence = `[all ${count} operations](proto/METHODS.md) that upstream has published (${sources.join(', ')})`;
  const page = readFileSync(join(wholeTree(), 'README.md'), 'utf8').replaceAll('\n', ' ');
  assert.ok(page.includes(sentence), sentence);
});
