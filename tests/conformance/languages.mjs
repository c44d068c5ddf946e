// The languages and their drivers.
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { wholeTree } from '../paths.mjs';
import { environment } from './driver.mjs';

const drivers = join(wholeTree(), 'tests/conformance/drivers');
const packages = join(wholeTree(), 'proto/clients');

/** The version of the packages that the judge builds. */
const VERSION = '0.0.0';

/** The languages with a package, and the program without which the driver cannot be built. */
const TOOLCHAINS = { python: 'python3', typescript: 'node', go: 'go' };

/** The names of the languages with a package. */
export const languageNames = Object.keys(TOOLCHAINS);

/** Runs a program, and rejects with its output if it fails. */
const runs = (file, args) => promisify(execFile)(file, args, { env: environment() });

/** The driver without a package. */
export const reference = {
  name: 'reference',
  program: { command: [process.execPath, fileURLToPath(new URL('drivers/reference/driver.mjs', import.meta.url))] },
};

/**
 * Builds the package of a language and its driver in `folder`.
 * @returns {Promise<{name: string, program?: import('./judge.mjs').Language['program'], skipped?: string}>} `skipped`
 *     names the missing toolchain
 * @throws {Error} if a build fails
 */
export async function built(name, folder) {
  if (name === reference.name) return reference;
  const toolchain = TOOLCHAINS[name];
  const isMissing = await runs('sh', ['-c', `command -v ${toolchain}`]).then(
    () => false,
    () => true,
  );
  if (isMissing) return { name, skipped: `there is no ${toolchain}` };
  await runs(join(packages, 'build'), [VERSION, join(folder, 'packages'), name]);
  const driver = join(folder, name);
  await runs(join(drivers, name, 'build'), [join(folder, 'packages'), driver]);
  return { name, program: { command: [join(driver, 'driver')] } };
}
