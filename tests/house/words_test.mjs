// Bans words that do not name who acts, and phrases that a reader must read twice, from comments, protos, pages and
// test names.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { it } from 'node:test';
import { wholeTree } from '../paths.mjs';

const tree = wholeTree();

/** Banned phrases: each pattern, and what to write instead. A space matches a line break. */
const PHRASES = {
  'whoever|tells|told': '"a caller that", "returns", "logs", "reports", "sends"',
  'for ever': '"forever"',
  '(?:go|goes|went) on': '"continues"',
  'sees? to it': '"makes sure"',
  'those who': '"callers that", "clients that"',
  '(?:for|to|of|from|by|with|against) who': '"a caller that", "a peer that"',
  'what (?:came|comes|becomes|became|has come) (?:in|of)': '"the outcome of", "the received ..."',
  'what (?:nobody|it is for|waits|came|comes)': 'a noun',
  'what is (?:wrong|asked|there|kept|behind|under|taken|read)': 'a noun: "the fault", "the stored ..."',
  'what (?:\\w+ )?(?:says?|said) is': 'a noun',
  'as (?:it|they) (?:came|comes|come)': '"unchanged", "in the order received"',
  'come what may': '"in every case"',
  'has (?:it|them) \\w+ed': '"has stored it"',
  'put back': '"restored"',
  'under way': '"in progress"',
  'but for': '"except"',
  '(?:is|are) to (?:be|get|have)': '"must be", "will be"',
  'to be had': '"available"',
  '(?:can|cannot) be had': '"can be fetched", "is not available"',
  'than (?:it|they) may': '"than the limit"',
  'behind (?:it|them|each|every|that|which|the (?:last|end|first))': '"after"',
  'of before': '"older", "earlier"',
  "in upstream's words": '"with upstream\'s message"',
  'stands? (?:there|in the way)': '"is there", "blocks"',
  'tak(?:e|es|en) (?:it )?for (?:a|an|one|granted)': '"interprets as"',
  'no room for': '"no space for"',
  'made? anew|read anew|make anew': '"again"',
  'hears? of': '"receives", "learns"',
  'lets? go of': '"releases"',
  'cares? for': 'name the function',
};

/**
 * The pattern as a regular expression. A space also matches a line break, with "//" at the beginning of the next line.
 */
const patternOf = (words) => new RegExp(`\\b(?:${words.replaceAll(' ', '(?:\\s|//)+')})\\b`, 'gi');

const PATTERNS = Object.entries(PHRASES).map(([words, instead]) => [patternOf(words), instead]);

/** The names of the tests in a file: C++ names, split into words, and the titles of Node's tests. */
function namesIn(path, text) {
  if (path.endsWith('_test.cc')) {
    const names = [...text.matchAll(/^(?:TYPED_)?TEST(?:_[FP])?\(\s*\w+,\s*(\w+)\)/gm)];
    return names.map(({ 1: name, index }) => ({ name, words: name.replaceAll(/(?<=.)([A-Z])/g, ' $1'), index }));
  }
  if (!path.endsWith('_test.mjs')) return [];
  return [...text.matchAll(/^\s*(?:it|test|describe)\(\s*(['"`])(.*?)\1/gm)].map(({ 2: name, index }) => ({
    name,
    words: name,
    index,
  }));
}

const placeOf = (path, text, index) => `${path}:${text.slice(0, index).split('\n').length}`;

/** The banned phrases in a file: in all of its text, and in the names of its tests. */
function faultsIn(path, text) {
  const inText = path.endsWith('.mjs')
    ? []
    : PATTERNS.flatMap(([pattern, instead]) =>
        [...text.matchAll(pattern)].map(({ 0: found, index }) => {
          const phrase = found.replaceAll(/(?:\s|\/\/)+/g, ' ');
          return `${placeOf(path, text, index)}: "${phrase}"; write ${instead}`;
        }),
      );
  const inNames = namesIn(path, text).flatMap(({ name, words, index }) =>
    PATTERNS.filter(([pattern]) => words.search(pattern) >= 0).map(
      ([, instead]) => `${placeOf(path, text, index)}: ${name}; write ${instead}`,
    ),
  );
  return [...inText, ...inNames];
}

function read(...globs) {
  const paths = execFileSync('git', ['ls-files', ...globs], { cwd: tree, encoding: 'utf8' })
    .trim()
    .split('\n');
  return paths.map((path) => [path, readFileSync(join(tree, path), 'utf8')]);
}

it('no sentence has a banned phrase', () => {
  const files = read(
    '*.h',
    '*.cc',
    '*.proto',
    '*.md',
    'tests/simulator/*.mjs',
    'tests/clients/*.mjs',
    'tests/machine/*.mjs',
  );
  assert.ok(files.length > 500);
  assert.deepEqual(
    files.flatMap(([path, text]) => faultsIn(path, text)),
    [],
  );
});

it('every suite of C++ tests is named ...Test', () => {
  const suites = read('*_test.cc').flatMap(([path, text]) =>
    [...text.matchAll(/^TEST(?:_[FP])?\(\s*(\w+),/gm)].map(([, suite]) => `${path}: ${suite}`),
  );
  assert.ok(suites.length > 500);
  assert.deepEqual(
    suites.filter((suite) => !suite.endsWith('Test')),
    [],
  );
});

it('a banned phrase is found, also across a line break and in the name of a test', () => {
  const header = '// Right.\n// Whoever asks gets it. Retention goes\n  // on.\n';
  assert.deepEqual(faultsIn('a.h', header), [
    'a.h:2: "Whoever"; write "a caller that", "returns", "logs", "reports", "sends"',
    'a.h:2: "goes on"; write "continues"',
  ]);
  assert.deepEqual(faultsIn('a_test.cc', 'TEST(LogTest, GoesOnWhereItEnded) {\n'), [
    'a_test.cc:1: GoesOnWhereItEnded; write "continues"',
  ]);
});
