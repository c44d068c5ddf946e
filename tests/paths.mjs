// Where tests find files: in the tree and in bazel-bin, or in the runfiles if Bazel runs the test; and outside both, where
// deploy/install puts packages.
import { existsSync, readFileSync, realpathSync } from 'node:fs';
import { homedir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** The tree. If Bazel runs the test, it has only the files that the test's rule names. */
export const root = join(dirname(fileURLToPath(import.meta.url)), '..');

/**
 * The whole tree, under Bazel too, which does not know what the test reads there. The test's rule has the tag "external":
 * Bazel runs it each time.
 */
export const wholeTree = () => dirname(realpathSync(join(root, 'WORKSPACE')));

/** The program that Bazel builds as the target, a path in the tree. */
export const binary = (target) => join(root, process.env.TEST_SRCDIR === undefined ? 'bazel-bin' : '.', target);

/** Programs that deploy/install makes if the machine has Go. */
export const goPrograms = join(homedir(), '.cache/stampgate/go');

/** The folder `name` that deploy/install makes. It holds what the lock file, a path in the tree, lists. */
export function installed(name, lock) {
  const folder = join(homedir(), '.cache/stampgate', name);
  const copy = join(folder, basename(lock).replace(/^(package-)?/, 'installed-'));
  if (!existsSync(copy) || !readFileSync(copy).equals(readFileSync(join(root, lock)))) {
    throw new Error(`${folder} does not hold what ${lock} lists: run deploy/install --tests`);
  }
  return folder;
}
