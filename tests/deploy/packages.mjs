// Finds the packages that deploy/install installs for these tests outside the tree.
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { installed } from '../paths.mjs';

const folder = installed('deploy', 'tests/deploy/package-lock.json');

/** A `require` that finds the installed packages. */
export const load = createRequire(join(folder, 'node_modules/anything.js'));
