// Tests the schema, and its differences from the specification.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { describe, test } from 'node:test';
import { differences } from './schema/differences.mjs';
import { schema } from './schema/kinds.mjs';
import { textOf } from './schema/update.mjs';
import { operations as specified } from './specification.mjs';

describe('the schema', () => {
  const TEXTS = ['string', 'decimal', 'ethereumChain', 'solanaChain', 'bytes'];
  const OTHERS = ['bool', 'int32', 'uint32', 'int64', 'uint64', 'double', 'any'];
  const known = new Set([...TEXTS, ...OTHERS, ...Object.keys(schema.messages), ...Object.keys(schema.enums)]);

  test('has all operations', () => {
    const kinds = Object.values(schema.operations).map(({ kind }) => kind);
    assert.equal(kinds.filter((kind) => kind === 'query').length, 77);
    assert.equal(kinds.filter((kind) => kind === 'submit').length, 123);
  });

  test('has every type that it names', () => {
    for (const [message, members] of Object.entries(schema.messages)) {
      for (const [name, text] of Object.entries(members)) {
        const [, type] = /^(\w[\w.]*?)(?:\[\]|\{\})?(?:\(\d*\.\.\d*\))?[?!]?$/.exec(text);
        assert.ok(known.has(type), `${message}.${name} has the type ${type}`);
      }
    }
    for (const { kind, request, answer, versions } of Object.values(schema.operations)) {
      if (kind === 'query') assert.ok(request in schema.messages && answer in schema.messages);
      for (const { intent, result } of Object.values(versions ?? {})) {
        assert.ok(intent in schema.messages.Intent);
        if (result !== undefined) assert.ok(result in schema.messages.Result);
      }
    }
  });

  test('has the members of oneofs in their messages', () => {
    for (const [message, names] of Object.entries(schema.oneofs)) {
      assert.ok(names.length > 1);
      assert.ok(names.every((name) => schema.messages[message][name].endsWith('?')));
    }
  });

  test('has a version for every activity type that a submit sends', () => {
    const types = Object.values(schema.operations).flatMap(({ versions }) => Object.keys(versions ?? {}));
    assert.equal(new Set(types).size, types.length);
    assert.deepEqual(
      types.filter((type) => !schema.enums.ActivityType.includes(type)),
      [],
    );
    assert.ok(!types.some((type) => type.endsWith('UNSPECIFIED')));
  });

  test('is written as update.mjs writes it', () => {
    assert.equal(readFileSync(new URL('schema/schema.json', import.meta.url), 'utf8'), textOf(schema));
  });
});

describe('the table of differences', () => {
  const page = readFileSync(new URL('schema/DIFFERENCES.md', import.meta.url), 'utf8');
  const rows = [...page.matchAll(/^\| `(.*?)` \| (.*?) \| (.*?) \| (.*) \|$/gm)].map(([, ...cells]) => cells);

  test('lists every difference between the specification and the schema, and no other one', () => {
    assert.deepEqual(
      rows.map((cells) => cells.slice(0, 3)),
      differences(),
    );
  });

  test('has a decision for each difference', () => {
    assert.deepEqual(
      rows.filter(([, , , decision]) => !/^[A-Z].*\.$/.test(decision)),
      [],
    );
  });

  test('has no operation that the schema does not have', () => {
    assert.deepEqual(
      [...specified.keys()].filter((path) => !(path in schema.operations)),
      [],
    );
  });
});
