// Compares the two classifications of upstream's operations, ../reviewed/operations.yaml (the first) and
// ../reviewed/second_classification.yaml, with each other and with ../reviewed/DISAGREEMENTS.md.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { basename } from 'node:path';
import { it } from 'node:test';
import { load } from './packages.mjs';

const { parse } = load('yaml');

const read = (name) => readFileSync(new URL(`../reviewed/${name}`, import.meta.url), 'utf8');

const first = parse(read('operations.yaml'));
const second = parse(read('second_classification.yaml'));
const [differing, decidedForSecond] = read('DISAGREEMENTS.md').split('\n## Decided for the second\n');

/** The classes that an operation can have. Only local methods have the class `events`. */
const CLASSES = ['query', 'login', 'write', 'dangerous'];

/** The compared properties: the name on the page, and the value in an entry of a table. */
const PROPERTIES = {
  'policy class': (entry) => entry.class,
  stamped_by_client: (entry) => String(entry.stamped_by_client ?? false),
  moves_unread_amount: (entry) => String(entry.moves_unread_amount ?? false),
};

/** The rows of the table in a part of the page: operation, property, first, second, decision, why. */
function rowsOf(part) {
  const rows = part
    .split('\n')
    .filter((line) => line.startsWith('|'))
    .map((line) => line.split('|').slice(1, -1));
  return rows.slice(2).map((cells) => {
    const [operation, ...others] = cells.map((cell) => cell.trim());
    assert.match(operation, /^`\w+`$/);
    assert.equal(others.length, 5, `${operation} does not have six cells`);
    return [operation.slice(1, -1), ...others];
  });
}

it('both classifications have the same operations, except those that upstream does not publish as types', () => {
  const unpublished = Object.keys(parse(read('supplement.yaml')).operations).map((path) => basename(path));
  const published = Object.keys(first).filter((name) => !unpublished.includes(name));
  assert.deepEqual(Object.keys(second).sort(), published.sort());
});

it('every operation has a class and a reason in both classifications', () => {
  const incomplete = [first, second].flatMap((table) =>
    Object.keys(table).filter((name) => !CLASSES.includes(table[name].class) || !table[name].reason?.endsWith('.')),
  );
  assert.deepEqual(incomplete, []);
});

it('the page lists every disagreement of the two classifications, and no other; each decision is in force', () => {
  const disagreements = Object.keys(second).flatMap((name) =>
    Object.entries(PROPERTIES)
      .map(([property, valueIn]) => [name, property, valueIn(first[name] ?? {}), valueIn(second[name])])
      .filter(([, , ofFirst, ofSecond]) => ofFirst !== ofSecond)
      .map((row) => [...row, row[2]].join(' | ')),
  );
  assert.deepEqual(
    rowsOf(differing)
      .map((row) => row.slice(0, 5).join(' | '))
      .sort(),
    disagreements.sort(),
  );
});

it('each decision for the second classification is in force, and both classifications now agree', () => {
  for (const [name, property, ofFirst, ofSecond, decision] of rowsOf(decidedForSecond)) {
    const valueIn = PROPERTIES[property];
    assert.notEqual(ofFirst, ofSecond, name);
    assert.deepEqual([valueIn(first[name]), valueIn(second[name])], [decision, decision], name);
    assert.equal(decision, ofSecond, name);
  }
});

it('the page has a reason for every decision', () => {
  for (const [name, , , , , why] of [...rowsOf(differing), ...rowsOf(decidedForSecond)]) assert.match(why, /\.$/, name);
});
