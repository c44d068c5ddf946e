// Makes the lists of files in the READMEs of folders, from the first sentence of each header. If you run this file, it
// writes the lists into the READMEs.
import { readFileSync, writeFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { wholeTree } from '../paths.mjs';
import { readTree } from './rooms.mjs';

const HEAD = '| file | what it holds |\n|---|---|\n';

/** The first sentence of the comment at the beginning of a header. */
function sentenceOf(header) {
  const [comment] = /^(\/\/.*\n)+/.exec(header);
  const text = comment.replace(/^\/\/ ?/gm, '').replaceAll('\n', ' ');
  const [sentence] = /^.*?[.:](?= [A-Z]|\s*$|  )/.exec(text) ?? [text];
  return sentence.trim().replace(/:$/, '.').replaceAll('|', '\\|');
}

/** The list of the headers in one folder. */
export function fileTable(files, folder) {
  const headers = [...files.keys()].filter((path) => dirname(path) === folder && path.endsWith('.h')).sort();
  return (
    HEAD +
    headers.map((path) => `| [${basename(path)}](${basename(path)}) | ${sentenceOf(files.get(path))} |\n`).join('')
  );
}

/** The folders whose README has a list. */
export const listed = (files) =>
  [...files]
    .filter(([path, text]) => basename(path) === 'README.md' && text.includes(HEAD))
    .map(([path]) => dirname(path));

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const root = wholeTree();
  const files = readTree(root);
  for (const folder of listed(files)) {
    const path = join(root, folder, 'README.md');
    const text = readFileSync(path, 'utf8');
    const begin = text.indexOf(HEAD);
    const rest = text.slice(begin).replace(/^(\|.*\n)+/, '');
    writeFileSync(path, text.slice(0, begin) + fileTable(files, folder) + rest);
  }
}
