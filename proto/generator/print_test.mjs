import assert from 'node:assert/strict';
import { test } from 'node:test';
import { printFile } from './print.mjs';

const field = (name, number, more = {}) => ({
  name,
  label: '',
  type: 'string',
  number,
  options: [],
  comment: `The ${name}.`,
  ...more,
});
const message = (fields, more = {}) => ({
  kind: 'message',
  name: 'M',
  comment: 'A message.',
  fields,
  retired: [],
  ...more,
});
const file = (element) =>
  printFile({ path: 'stampgate/v1/m.proto', comment: 'A file.', imports: new Set(), elements: [element] });

test('a message has its fields with their comments and options', () => {
  const text = file(
    message([
      field('a', 1, { options: [['(field).required', 'true']] }),
      field('b', 2, {
        label: 'optional',
        options: [
          ['(field).required', 'true'],
          ['(field).secret', 'true'],
        ],
      }),
      field('c', 3, { deprecated: true }),
    ]),
  );
  assert.ok(
    text.endsWith(`// A message.
message M {
  // The a.
  string a = 1 [(field).required = true];
  // The b.
  optional string b = 2 [
    (field).required = true,
    (field).secret = true
  ];
  // The c.
  string c = 3 [deprecated = true];
}
`),
    text,
  );
});

test('the numbers and names of removed fields are reserved', () => {
  assert.match(
    file(
      message([field('a', 1)], {
        retired: [
          ['b', 2],
          ['c', 4],
        ],
      }),
    ),
    /message M \{\n {2}reserved 2, 4;\n {2}reserved "b", "c";\n\n {2}\/\/ The a\./,
  );
});

test('a line of a comment has at most 120 characters, and keeps every word', () => {
  const words = Array.from({ length: 100 }, (_, index) => `word${index}`);
  const text = file(message([], { comment: words.join(' ') }));
  assert.ok(text.split('\n').every((line) => line.length <= 120));
  assert.deepEqual(text.match(/word\d+/g), words);
});

test('an empty message has one line', () => {
  assert.match(file(message([])), /\nmessage M \{\}\n$/);
});

test('a value of an enum has its JSON text if it differs from its name', () => {
  const value = (name, number, json) => ({ name, number, json, comment: `${name}.` });
  assert.match(
    file({ kind: 'enum', name: 'E', comment: 'An enum.', values: [value('E_X', 1, 'x'), value('E_Y', 2)] }),
    / {2}\/\/ E_X\.\n {2}E_X = 1 \[\(enum_value\)\.json_name = "x"\];\n {2}\/\/ E_Y\.\n {2}E_Y = 2;\n/,
  );
});
