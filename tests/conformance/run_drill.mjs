// Runs the drill with the drivers of the languages, and prints a table; see README.md.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { drill } from './drill.mjs';
import { built, languageNames, reference } from './languages.mjs';
import { Ending } from './stacks.mjs';

const USAGE = `tests/conformance/drill [--language NAME]... [--submits COUNT] [--seed TEXT]

  --language NAME   only this language: ${[...languageNames, reference.name].join(', ')}
  --submits COUNT   so many submits with each language, at least 100, by default 2000
  --seed TEXT       the seed of the random choices, by default 1`;

const COLUMNS = {
  submits: 'submits',
  results: 'results',
  errors: 'typed errors',
  resets: 'resets',
  kills: 'kills',
  drains: 'drains',
  seconds: 'seconds',
  activities: 'activities',
  doubled: 'doubled',
  sockets: 'sockets',
  threads: 'threads',
};

function options() {
  try {
    const text = /** @type {const} */ ({ type: 'string', multiple: false });
    const texts = /** @type {const} */ ({ type: 'string', multiple: true });
    const flag = /** @type {const} */ ({ type: 'boolean' });
    return parseArgs({ options: { language: texts, submits: text, seed: text, help: flag } }).values;
  } catch (error) {
    return fail(error.message);
  }
}

/** @returns {never} */
function fail(message) {
  console.error(`${message}\n\n${USAGE}`);
  process.exit(2);
}

const { language: names = languageNames, submits = '2000', seed = '1', help } = options();
if (help) {
  console.log(USAGE);
  process.exit(0);
}
const unknown = names.find((name) => ![...languageNames, reference.name].includes(name));
if (unknown) fail(`${unknown} is not a language`);
if (!(Number(submits) >= 100)) fail('--submits must be a number of at least 100');

const folder = mkdtempSync(join(tmpdir(), 'drill-'));
process.on('exit', () => rmSync(folder, { recursive: true, force: true }));
const WIDTH = Math.max(...names.map((name) => name.length), 8) + 2;
const row = (name, cell) =>
  name.padEnd(WIDTH) +
  Object.entries(COLUMNS)
    .map(([key, title]) => String(cell(key)).padStart(title.length + 2))
    .join('');
console.log(row('language', (key) => COLUMNS[key]));
for (const name of names) {
  const { program, skipped } = await built(name, folder);
  if (program === undefined) {
    console.log(`${name} is skipped: ${skipped}`);
    continue;
  }
  const ending = new Ending();
  const report = await drill(ending, { program }, { submits: Number(submits), seed });
  await ending.end();
  console.log(row(name, (key) => report[key]));
  report.faults.forEach((fault) => console.log(`    ${fault}`));
  if (report.faults.length + report.doubled + report.sockets > 0) process.exitCode = 1;
}
