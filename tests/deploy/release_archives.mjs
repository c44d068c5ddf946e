// Makes the archives of a release, and unpacks them.
import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { scratch } from '../end_to_end/harness.mjs';
import { binary, root } from '../paths.mjs';

export const VERSION = '1.2.3-rc.1';

/** Runs deploy/release. @param {string[]} args */
export const release = (...args) => spawnSync(join(root, 'deploy/release'), args, { encoding: 'utf8' });

/** Makes the archives of a release in a new folder, and returns the folder. */
export function makeRelease(t) {
  const folder = join(scratch(t), 'release');
  const { status, stderr } = release(binary('gateway/stampgate'), VERSION, folder);
  assert.equal(status, 0, stderr);
  return folder;
}

const machine = execFileSync('uname', ['-m'], { encoding: 'utf8' }).trim();

/** The name of the archive with the image's root folder. */
export const IMAGE = `linux-${machine}`;

/** The file name of an archive. */
export const archiveOf = (name) => `stampgate-${VERSION}-${name}.tar.gz`;

/** Unpacks an archive of sources and returns the folder. */
export function unpacked(t, folder, name) {
  const place = scratch(t);
  execFileSync('tar', ['-xzf', join(folder, archiveOf(name)), '-C', place]);
  assert.deepEqual(readdirSync(place), [`stampgate-${VERSION}-${name}`]);
  return join(place, `stampgate-${VERSION}-${name}`);
}
