// Checks the types in the JavaScript with TypeScript and the options of jsconfig.json. type_errors.json records how many
// errors each file has; a file that it does not name has none. A count may only fall.
//
//   node tests/house/types.mjs            fails if a file has more errors than recorded, and lists them, or if it has fewer
//   node tests/house/types.mjs --write    records the counts that fell
//   node tests/house/types.mjs FILE...    lists the errors in these files
import { readFileSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { homedir } from 'node:os';
import { join, relative, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { installed, wholeTree } from '../paths.mjs';

const tree = wholeTree();
const tools = join(installed('tools', 'third_party/npm/package-lock.json'), 'node_modules');
/** @type {typeof import('typescript')} */
const ts = createRequire(join(tools, 'anything.js'))('typescript');

const RECORD = join(tree, 'tests/house/type_errors.json');

/** The folders of the packages that the JavaScript loads, whose types comments import. deploy/install creates them. */
const PACKAGES = ['clients', 'deploy', 'telemetry', 'proto-generator'].map((name) =>
  join(homedir(), '.cache/stampgate', name, 'node_modules/*'),
);

/**
 * The errors in files.
 * @param {string[]} [paths] the files, below the tree's root; otherwise those that jsconfig.json names
 * @param {Map<string, string>} [texts] replaces the texts of some of these files
 * @returns {Map<string, string[]>} the errors by file, each as one or more lines of text; only files that have errors
 */
export function errorsOf(paths, texts = new Map()) {
  const { config } = ts.readConfigFile(join(tree, 'jsconfig.json'), ts.sys.readFile);
  const { options, fileNames, errors } = ts.parseJsonConfigFileContent(
    config,
    ts.sys,
    tree,
    undefined,
    'jsconfig.json',
  );
  Object.assign(options, { typeRoots: [join(tools, '@types')], paths: { '*': PACKAGES } });
  const host = ts.createCompilerHost(options);
  const { readFile } = host;
  host.readFile = (path) => texts.get(relative(tree, path)) ?? readFile(path);
  const roots = paths?.map((path) => join(tree, path)) ?? fileNames;
  const program = ts.createProgram(roots, options, host);
  const found = new Map();
  for (const diagnostic of [...errors, ...ts.getPreEmitDiagnostics(program)]) {
    const path = diagnostic.file ? relative(tree, diagnostic.file.fileName) : 'jsconfig.json';
    if (paths && !paths.includes(path)) continue;
    found.set(path, [
      ...(found.get(path) ?? []),
      ts.formatDiagnostic(diagnostic, {
        getCanonicalFileName: (name) => name,
        getCurrentDirectory: () => tree,
        getNewLine: () => '\n',
      }),
    ]);
  }
  return found;
}

/** The recorded counts, by file. @returns {Record<string, number>} */
const recorded = () => JSON.parse(readFileSync(RECORD, 'utf8'));

/**
 * What differs between the errors and the recorded counts, each as text.
 * @param {Map<string, string[]>} errors
 * @param {Record<string, number>} record
 */
export function faultsOf(errors, record) {
  const more = [...errors].filter(([path, { length }]) => length > (record[path] ?? 0));
  const fewer = Object.keys(record).filter((path) => (errors.get(path)?.length ?? 0) < record[path]);
  return [
    ...more.map(
      ([path, each]) => `${path}: ${each.length} type errors, ${record[path] ?? 0} are recorded\n${each.join('')}`,
    ),
    ...fewer.map((path) => `${path}: fewer type errors than recorded; run node tests/house/types.mjs --write\n`),
  ];
}

/**
 * The record with the counts that fell.
 * @param {Map<string, string[]>} errors
 * @param {Record<string, number>} record
 * @returns {Record<string, number>}
 */
export function lowered(errors, record) {
  const countOf = (path) => Math.min(record[path], errors.get(path)?.length ?? 0);
  const left = Object.keys(record).filter((path) => countOf(path) > 0);
  return Object.fromEntries(left.map((path) => [path, countOf(path)]));
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const [option, ...rest] = process.argv.slice(2);
  if (option === '--write' && rest.length === 0) {
    writeFileSync(RECORD, `${JSON.stringify(lowered(errorsOf(), recorded()), null, 2)}\n`);
  } else {
    const files = option === undefined ? undefined : [option, ...rest].map((path) => relative(tree, resolve(path)));
    const errors = errorsOf(files);
    const faults = files ? [...errors.values()].flat() : faultsOf(errors, recorded());
    process.stdout.write(faults.join(''));
    process.exitCode = faults.length === 0 ? 0 : 1;
  }
}
