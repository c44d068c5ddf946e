// Loads the packages of package.json from where deploy/install puts them, outside the tree.
import { createRequire } from 'node:module';
import { homedir } from 'node:os';
import { join } from 'node:path';

/** `require` relative to the installed packages. */
export const load = createRequire(join(homedir(), '.cache/stampgate/clients/node_modules/anything.js'));
