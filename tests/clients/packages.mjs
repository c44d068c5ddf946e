// Loads the packages of package.json from the folder outside the tree into which deploy/install installs them.
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { installed } from '../paths.mjs';

const folder = installed('clients', 'tests/clients/package-lock.json');

/** Loads an installed package by its name, like `require`. */
export const load = createRequire(join(folder, 'node_modules/anything.js'));
