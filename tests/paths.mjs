// The paths of files that tests use: in the tree and in bazel-bin, or in the runfiles if Bazel runs the test. Packages
// are in the folders that deploy/install creates, or in those that a release brings along.
import { existsSync, readFileSync, realpathSync } from 'node:fs';
import { homedir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** The root of the tree. If Bazel runs the test, this tree has only the files that the test's rule names. */
export const root = join(dirname(fileURLToPath(import.meta.url)), '..');

/**
 * The root of the whole tree, also if Bazel runs the test. Bazel does not know which files the test reads there, so the
 * test's rule must have the tag "external", with which Bazel runs the test each time.
 */
export const wholeTree = () => dirname(realpathSync(join(root, 'WORKSPACE')));

/** The path of a program that Bazel builds. `target` has the program's folder and name, as in tests/machine/probe. */
export const binary = (target) => join(root, process.env.TEST_SRCDIR === undefined ? 'bazel-bin' : '.', target);

/** A release has the packages beside the tree's files. */
const brought = join(root, 'lib');
const packages = existsSync(brought) ? brought : join(homedir(), '.cache/stampgate');

/** The folder of the programs that deploy/install builds if the machine has Go. */
export const goPrograms = join(packages, 'go');

/** The folder of files of Go modules for the tests in kubernetes, which deploy/install copies if the machine has Go. */
export const kubernetesReferences = join(packages, 'kubernetes-references');

/** The program in clients/rust, which deploy/install builds if the machine has Rust. */
export const rustProgram = join(packages, 'rust/debug/answer_reader');

/** The folder of Prometheus and promtool, which deploy/install unpacks from Debian's package. */
export const prometheusPrograms = join(packages, 'prometheus');

/**
 * The folder `name` with packages that deploy/install has installed. Fails if the packages differ from those that the
 * lock file lists. `lock` is the path of the lock file in the tree.
 */
export function installed(name, lock) {
  const folder = join(packages, name);
  const copy = join(folder, basename(lock).replace(/^(package-)?/, 'installed-'));
  if (!existsSync(copy) || !readFileSync(copy).equals(readFileSync(join(root, lock)))) {
    throw new Error(`${folder} does not have the packages that ${lock} lists: run deploy/install --tests`);
  }
  return folder;
}
