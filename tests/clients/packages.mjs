// Loads the packages of package.json from where deploy/install puts them, outside the tree.
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { installed } from '../paths.mjs';

const folder = installed('clients', 'tests/clients/package-lock.json');

/** `require` relative to the installed packages. */
export const load = createRequire(join(folder, 'node_modules/anything.js'));
