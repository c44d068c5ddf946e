// Finds code blocks and commands in the pages.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { root } from '../paths.mjs';

/** The text of the page with this path. */
export const pageAt = (path) => readFileSync(join(root, path), 'utf8');

/** The fenced blocks of a text, in order. */
export const blocksOf = (text) =>
  [...text.matchAll(/^```(\w+)\n([^]*?)^```$/gm)].map(([, language, block]) => ({ language, block }));

/** Returns the indented command with this beginning, with all its lines. Fails unless `text` has exactly one. */
export function commandIn(text, beginning) {
  const found = [...text.matchAll(/^ {4}(\S(?:[^\n\\]|\\[^])*)$/gm)].map(([, line]) => line);
  const fitting = found.filter((line) => line.startsWith(beginning));
  assert.equal(fitting.length, 1, `${fitting.length} commands begin with ${beginning}`);
  return fitting[0];
}
