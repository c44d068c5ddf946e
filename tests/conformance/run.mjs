// Runs the cases with the drivers of the languages, and prints a table; see README.md.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { cases as all } from './cases/index.mjs';
import { noEnvoy } from './envoy.mjs';
import { judge } from './judge.mjs';
import { built, languageNames, reference } from './languages.mjs';

const USAGE = `tests/conformance/run [--language NAME]... [--case TEXT]... [--list]

  --language NAME   only this language: ${[...languageNames, reference.name].join(', ')}
  --case TEXT       only the cases whose names contain the text
  --list            prints the names of the cases, and runs none`;

function options() {
  try {
    const text = /** @type {const} */ ({ type: 'string', multiple: true });
    const flag = /** @type {const} */ ({ type: 'boolean' });
    return parseArgs({ options: { language: text, case: text, list: flag, help: flag } }).values;
  } catch (error) {
    return fail(error.message);
  }
}

/** @returns {never} */
function fail(message) {
  console.error(`${message}\n\n${USAGE}`);
  process.exit(2);
}

const { language: names = languageNames, case: texts = [''], list, help } = options();
if (help) {
  console.log(USAGE);
  process.exit(0);
}
const unknown = names.find((name) => ![...languageNames, reference.name].includes(name));
if (unknown) fail(`${unknown} is not a language`);
const cases = all.filter(({ name }) => texts.some((text) => name.includes(text)));
if (cases.length === 0) fail('no case has such a name');
if (list) {
  cases.forEach(({ name }) => console.log(name));
  process.exit(0);
}

const folder = mkdtempSync(join(tmpdir(), 'conformance-'));
process.on('exit', () => rmSync(folder, { recursive: true, force: true }));
console.log(`builds the drivers: ${names.join(', ')}`);
const begun = Date.now();
const languages = await Promise.all(names.map((name) => built(name, folder)));
const skipped = languages.filter(({ skipped: reason }) => reason);
const running = languages.flatMap(({ name, program }) => (program ? [{ name, program }] : []));

const WIDTH = Math.max(...names.map((name) => name.length), 4) + 2;
const row = (marks, title) => `${names.map((name) => marks(name).padEnd(WIDTH)).join('')}${title}`;
console.log(row((name) => name, ''));

/** The marks by case and language. @type {Map<string, Map<string, string>>} */
const marks = new Map(cases.map(({ name }) => [name, new Map(skipped.map((language) => [language.name, 'skip']))]));
const faults = [];
let printed = 0;
/** Prints the rows that are complete, in the order of the cases. */
function printRows() {
  for (; printed < cases.length; printed += 1) {
    const { name: title } = cases[printed];
    const found = marks.get(title);
    if (found.size < names.length) return;
    console.log(row((name) => found.get(name), title));
  }
}

printRows();
await judge(running, cases, ({ name: title }, { name }, fault) => {
  marks.get(title).set(name, fault === undefined ? 'ok' : 'FAIL');
  if (fault !== undefined) faults.push(`${name}: ${title}\n    ${fault}`);
  printRows();
});

for (const { name, skipped: reason } of skipped) console.log(`${name} is skipped: ${reason}`);
if (noEnvoy) console.log(`the cases through Envoy are skipped: ${noEnvoy}`);
for (const fault of faults) console.log(`\n${fault}`);
const seconds = Math.round((Date.now() - begun) / 1000);
console.log(`\n${running.length * cases.length - faults.length} passed, ${faults.length} failed, in ${seconds} s`);
process.exitCode = faults.length > 0 ? 1 : 0;
