// Words that do not name who acts. The product's comments, its protos and its pages do without them.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { it } from 'node:test';
import { wholeTree } from '../paths.mjs';

const tree = wholeTree();

/** Instead of these: "a caller that", "returns", "logs", "reports", "sends". */
const WORDS = /\b(?:whoever|tells|told)\b/i;

const faultsIn = (path, text) =>
  text.split('\n').flatMap((line, index) => (WORDS.test(line) ? [`${path}:${index + 1}: ${line.trim()}`] : []));

it('every sentence names who acts', () => {
  const options = { cwd: tree, encoding: 'utf8' };
  const paths = execFileSync('git', ['ls-files', '*.h', '*.cc', '*.proto', '*.md'], options).trim().split('\n');
  assert.ok(paths.length > 300);
  const product = paths.filter((path) => !path.endsWith('_test.cc'));
  assert.deepEqual(product.flatMap((path) => faultsIn(path, readFileSync(join(tree, path), 'utf8'))), []);
});

it('a sentence that does not is found', () => {
  assert.deepEqual(faultsIn('a.h', '// Right.\n// Whoever asks gets it.\n'), ['a.h:2: // Whoever asks gets it.']);
});
