// Makes the archives of a release, and unpacks them.
import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { scratch } from '../end_to_end/harness.mjs';
import { binary, goPrograms, wholeTree } from '../paths.mjs';

export const VERSION = '1.2.3-rc.1';

/** Runs deploy/release, which reads the whole tree. @param {string[]} args */
export const release = (...args) => spawnSync(join(wholeTree(), 'deploy/release'), args, { encoding: 'utf8' });

/**
 * Makes a release in a new folder, and returns the folder.
 * @param {object} t
 * @param {string[]} key the file of the signature's key, or none
 */
export function makeRelease(t, ...key) {
  const folder = join(scratch(t), 'release');
  const { status, stderr } = release(binary('gateway/stampgate'), VERSION, folder, ...key);
  assert.equal(status, 0, stderr);
  return folder;
}

const machine = execFileSync('uname', ['-m'], { encoding: 'utf8' }).trim();

/** The names of the archives with the image's root folder, and with what runs without an installation. */
export const IMAGE = `linux-${machine}`;
export const TRY = `try-linux-${machine}`;

/** The file name of the image as an OCI archive. */
export const OCI = `stampgate-${VERSION}-image-linux-${machine}.tar`;

/** The reason why this machine cannot make a release; undefined if it can. */
export const whyNoRelease = () =>
  existsSync(join(goPrograms, 'protoc-gen-go')) ? undefined : 'deploy/install --tests has found no Go';

/** The file name of an archive. */
export const archiveOf = (name) => `stampgate-${VERSION}-${name}.tar.gz`;

/** Unpacks an archive of sources and returns the folder. */
export function unpacked(t, folder, name) {
  const place = scratch(t);
  execFileSync('tar', ['-xzf', join(folder, archiveOf(name)), '-C', place]);
  assert.deepEqual(readdirSync(place), [`stampgate-${VERSION}-${name}`]);
  return join(place, `stampgate-${VERSION}-${name}`);
}
