// Runs the program in `check`, which checks manifests with Kubernetes' own code. deploy/install builds it if the
// machine has Go.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { goPrograms, kubernetesReferences, root } from '../paths.mjs';

const program = join(goPrograms, 'kubernetes-check');
const sources = join(root, 'tests/kubernetes/check');

/** `false`, or the reason for skipping a test that needs the program. */
export const skip = !existsSync(program) && `${program} is not there, because this machine has no Go that can build it`;

/** Fails if deploy/install built the program from other sources. */
function checkAge() {
  const hash = createHash('sha256');
  for (const name of readdirSync(sources).sort()) hash.update(readFileSync(join(sources, name)));
  const built = readFileSync(`${program}.sum`, 'utf8').trim();
  assert.equal(built, hash.digest('hex'), `${program} is of other sources: run deploy/install --tests`);
}

/**
 * Runs the program. `input` is its standard input.
 * @returns {{status: number, output: string}}
 */
function run(args, input = '') {
  checkAge();
  const { status, stdout, stderr, error } = spawnSync(program, ['--references', kubernetesReferences, ...args], {
    input,
    encoding: 'utf8',
    maxBuffer: 1 << 26,
  });
  assert.ifError(error);
  return { status, output: stdout + stderr };
}

/** Checks files, and folders with a kustomization. Status 0 if Kubernetes accepts all objects. */
export const check = (...manifests) => run(manifests);

/** Checks a text with manifests. */
export const checkText = (text) => run(['-'], text);

/** Checks whether Kubernetes can change the objects of the manifests `before` into those of the text `after`. */
export const checkUpgrade = (before, after) => run(['--upgrade', before, '-'], after);

/** The objects of the kustomization in a folder, as YAML. kustomize follows no link out of the folder's parent. */
export function render(folder) {
  const { status, output } = run(['--render', folder]);
  assert.equal(status, 0, output);
  return output;
}
