// Loads the packages of package.json from the folder outside the tree into which deploy/install installs them.
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { installed } from '../../tests/paths.mjs';

const folder = installed('proto-generator', 'proto/generator/package-lock.json');

/** The names of the packages. */
export const names = Object.keys(JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')).devDependencies);

/** The path of a file of an installed package. */
export const fileOf = (name, path) => join(folder, 'node_modules', name, path);

/** Loads an installed package by its name, like `require`. */
export const load = createRequire(join(folder, 'node_modules/anything.js'));
