// Fetches a release of the package with upstream's published types from the npm registry.
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileOf, names } from './packages.mjs';

const name = '@turnkey/sdk-types';
const typesFile = 'dist/__inputs__/public_api.types.d.ts';

const npm = (args, cwd) => execFileSync('npm', args, { cwd, encoding: 'utf8', stdio: ['ignore', 'pipe', 'inherit'] });

/**
 * Fetches a release.
 * @param {string} version such as '1.10.0', or 'latest'
 * @returns {{text: string, release: {version: string, day: string, integrity: string}}} the types, the day on which the
 *   release was published (UTC), and the digest by which npm identifies the package
 */
export function fetchRelease(version) {
  const folder = mkdtempSync(join(tmpdir(), 'types-'));
  try {
    const facts = JSON.parse(npm(['view', `${name}@${version}`, 'version', 'dist.integrity', '--json'], folder));
    const days = JSON.parse(npm(['view', name, 'time', '--json'], folder));
    const [packed] = JSON.parse(npm(['pack', `${name}@${facts.version}`, '--json'], folder));
    if (packed.integrity !== facts['dist.integrity'])
      throw new Error(`${name}: the registry has two digests of a release`);
    const text = execFileSync('tar', ['-xzOf', packed.filename, `package/${typesFile}`], {
      cwd: folder,
      encoding: 'utf8',
      maxBuffer: 64 << 20,
    });
    const day = days[facts.version].slice(0, 'YYYY-MM-DD'.length);
    return { text, release: { version: facts.version, day, integrity: packed.integrity } };
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** The types of a release that package.json lists, for tests. */
export const installedTypes = (version) => readFileSync(fileOf(`types-${version}`, typesFile), 'utf8');

/** The releases that package.json lists, in their order. */
export const installedVersions = () =>
  names
    .flatMap((one) => /^types-(.*)$/.exec(one)?.[1] ?? [])
    .sort((a, b) => a.localeCompare(b, 'en', { numeric: true }));
