// The releases that the tests read: of each source those that package.json, requirements.txt and crates.txt name, which
// deploy/install --tests installs outside the tree.
import { existsSync, readFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { installed } from '../../tests/paths.mjs';
import { releaseIn } from './release.mjs';

const packages = installed('proto-generator', 'proto/generator/package-lock.json');
const { devDependencies } = JSON.parse(readFileSync(join(packages, 'package.json'), 'utf8'));

/** The versions of the types for TypeScript, in their order. */
export const typesVersions = Object.keys(devDependencies)
  .map((name) => name.replace(/^types-/, ''))
  .sort((a, b) => a.localeCompare(b, 'en', { numeric: true }));

/** The file with the types for TypeScript of a version. */
export const typesFile = (version) =>
  join(packages, `node_modules/types-${version}/dist/__inputs__/public_api.types.d.ts`);

/** The text of the types for TypeScript of a version. */
export const typesText = (version) => readFileSync(typesFile(version), 'utf8');

/** A release in npm. The newest one that the tests read has the day on which upstream published it. */
export function npmRelease(version = '1.10.0', day = '2026-09-22') {
  const { release, published } = releaseIn(typesFile(version), day);
  return { release: { ...release, version }, published };
}

export const pythonFolder = () => installed('proto-generator-python', 'proto/generator/requirements.txt');

export const pythonRelease = () => releaseIn(pythonFolder(), '2026-10-21');

/** Why the tests cannot read the crate, or false. */
export const noCrate =
  !existsSync(join(homedir(), '.cache/stampgate/proto-generator-crates')) &&
  'deploy/install found no cargo that is new enough';

export const crateFolder = () => installed('proto-generator-crates', 'proto/generator/crates.txt');

export const crateRelease = () => releaseIn(crateFolder(), '2026-10-30');
