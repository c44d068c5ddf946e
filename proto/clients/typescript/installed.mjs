// Builds the package and installs it in a folder, as a caller does.
import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { wholeTree } from '../../../tests/paths.mjs';

/** The folder of the package's sources. */
export const source = join(wholeTree(), 'proto/clients/typescript');

/** Builds the package, and returns the path of its file. */
export function buildPackage(folder, version = '0.0.0') {
  execFileSync(join(source, 'build'), [version, folder], { stdio: ['ignore', 'ignore', 'inherit'] });
  return join(folder, `stampgate-client-${version}.tgz`);
}

/** Builds the package, and installs it in the folder. */
export function installPackage(folder) {
  execFileSync(join(source, 'unpack'), [buildPackage(folder), folder]);
  writeFileSync(join(folder, 'package.json'), '{"type": "module"}\n');
}

/** Imports a module of the package that is installed in the folder, such as '/v1'. */
export const importFrom = (folder, module = '') =>
  import(exportedPath(join(folder, 'node_modules/@stampgate/client'), module));

function exportedPath(folder, module) {
  const { exports } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'));
  return pathToFileURL(join(folder, exports[`.${module}`].default)).href;
}

/** Compiles TypeScript files to JavaScript in the folder where the package is installed. Fails on any error. */
export function compile(folder, files) {
  const tsc = createRequire(join(folder, 'node_modules/anything.js')).resolve('typescript/bin/tsc');
  const options = ['--strict', '--module', 'nodenext', '--target', 'es2022', '--types', 'node', '--outDir', folder];
  execFileSync(process.execPath, [tsc, ...options, ...files], { cwd: folder, encoding: 'utf8' });
}
