// Loads the packages of package.json.
import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import { homedir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const here = dirname(fileURLToPath(import.meta.url));

/** `npm ci` installs the packages of a release's archive beside this file; deploy/install those of a tree outside it. */
const folder = [here, join(homedir(), '.cache/stampgate/proto-generator')].find((each) =>
  existsSync(join(each, 'node_modules')),
);
if (!folder) throw new Error(`the packages are not installed: run npm ci --omit=dev in ${here}`);

/** The program buf, which Node.js runs. */
export const buf = join(folder, 'node_modules/@bufbuild/buf/bin/buf');

/** Loads an installed package by its name, like `require`. */
export const load = createRequire(join(folder, 'node_modules/anything.js'));
