// The links and the paths of files in all pages lead to files of the tree.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { it } from 'node:test';
import { wholeTree } from '../paths.mjs';

const tree = wholeTree();
/** The folders, besides that of the page, from which paths in backquotes can start. */
const STARTS = ['.', 'gateway', 'proto', 'tests', 'tests/end_to_end'];

/** What the text of a page names and the tree lacks. */
function missingOn(page, text) {
  const prose = text.replace(/^```[^]*?^```/gm, '');
  const links = [...prose.matchAll(/\]\(([^)\s#]+)[^)]*\)/g)]
    .map(([, link]) => link)
    .filter((link) => !/^(https?|mailto):/.test(link));
  const paths = [...prose.matchAll(/`([\w.-]+(?:\/[\w.-]+)+\.(?:h|cc|mjs|sql|proto|yaml|json))`/g)].map(
    ([, path]) => path,
  );
  const isThere = (...names) => existsSync(join(tree, ...names));
  return [
    ...links.filter((link) => !isThere(dirname(page), link)),
    ...paths.filter((path) => ![dirname(page), ...STARTS].some((start) => isThere(start, path))),
  ];
}

it('each link and each path on a page leads to a file', () => {
  const pages = execFileSync('git', ['ls-files', '*.md'], { cwd: tree, encoding: 'utf8' }).trim().split('\n');
  assert.ok(pages.length > 50);
  // The changelog also names files as they were.
  const missing = pages
    .filter((page) => page !== 'CHANGELOG.md')
    .flatMap((page) => missingOn(page, readFileSync(join(tree, page), 'utf8')).map((path) => `${page}: ${path}`));
  assert.deepEqual(missing, []);
});

it('a link and a path that lead nowhere are found', () => {
  const text = 'See [the log](../audit/README.md#files), `audit/no_such.h`, `audit/log.h` and [nothing](nothing.md).';
  assert.deepEqual(missingOn('gateway/store/README.md', text), ['nothing.md', 'audit/no_such.h']);
});
