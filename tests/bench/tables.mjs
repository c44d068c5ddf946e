// Prints the tables of the benchmarks of several gateways, and makes the event that they deliver.
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { root } from '../paths.mjs';

export const median = (values) => [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)];

const COLUMN = 14;
const TITLE = 52;

/** Prints a row. A value that is undefined leaves its place empty. */
export function row(title, values, digits = 0) {
  const shown = values.map((value) => (value === undefined ? '' : value.toFixed(digits)).padStart(COLUMN));
  console.log(`  ${title.padEnd(TITLE)}${shown.join('')}`);
}

/** Prints the heading of a table. */
export function heading(title, columns) {
  console.log(`\n${title}`);
  console.log(`  ${''.padEnd(TITLE)}${columns.map((column) => String(column).padStart(COLUMN)).join('')}`);
}

/** Writes the body of an event to a file in `folder`: an activity without the member "activity" around it. */
export function writeBody(folder) {
  const file = join(folder, 'event.json');
  const activity = readFileSync(join(root, 'tests/bench/activity.json'), 'utf8');
  writeFileSync(
    file,
    activity
      .replace(/^\{"activity":/, '')
      .replace(/\}\s*$/, '')
      .replaceAll('\n', ''),
  );
  return file;
}
