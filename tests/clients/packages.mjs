// Finds the packages of package.json where tests/run installs them: outside the tree.
import { createRequire } from 'node:module';
import { homedir } from 'node:os';
import { join } from 'node:path';

const cache = process.env.STAMPGATE_CACHE ?? join(homedir(), '.cache', 'stampgate');
const folder = process.env.STAMPGATE_CLIENTS ?? join(cache, 'clients', 'node_modules');

/** `require` as if called from beside the installed packages. STAMPGATE_CLIENTS names their node_modules folder. */
export const load = createRequire(join(folder, 'anything.js'));
