// Finds the packages that deploy/install installs for these tests outside the tree.
import { execFile } from 'node:child_process';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { installed } from '../paths.mjs';

const folder = installed('deploy', 'tests/deploy/package-lock.json');

/** A `require` that finds the installed packages. */
export const load = createRequire(join(folder, 'node_modules/anything.js'));

/**
 * Checks manifest files against the schemas of a Kubernetes release. A member that the schema does not have is an
 * error.
 * @returns {Promise<{status: number | string, output: string}>} status 0 if there is no error; `output` names the errors
 */
export function validate(release, files) {
  const args = ['-m', 'kubernetes_validate', '--strict', '--kubernetes-version', release, ...files];
  const env = { ...process.env, PYTHONPATH: installed('deploy-python', 'tests/deploy/requirements.txt') };
  return new Promise((resolve) => {
    execFile('/usr/bin/python3', args, { env }, (error, stdout, stderr) => {
      resolve({ status: error ? (error.code ?? error.signal) : 0, output: stdout + stderr });
    });
  });
}
