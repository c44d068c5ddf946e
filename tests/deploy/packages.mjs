// Finds what deploy/install puts outside the tree for these tests.
import { execFile } from 'node:child_process';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { installed } from '../paths.mjs';

const folder = installed('deploy', 'tests/deploy/package-lock.json');

/** `require` as if called from beside the installed packages. */
export const load = createRequire(join(folder, 'node_modules/anything.js'));

/**
 * Checks files of manifests against the schemas of a Kubernetes release; a member that the schema does not have is
 * wrong.
 * @returns {Promise<{status: number, output: string}>} 0, or something else and what is wrong
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
