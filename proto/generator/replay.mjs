// Follows releases of upstream one after another, as if the project had done so from the first of them: with today's
// tables, but without a catalog, a lock and protos. For tests.
import { execFileSync } from 'node:child_process';
import { cpSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { root } from '../../tests/paths.mjs';
import { makeApi } from './api.mjs';
import { emptyCatalog, mergeReleases } from './catalog.mjs';
import { Lock, emptyLock } from './lock.mjs';
import { buf } from './packages.mjs';
import { npmRelease, typesVersions } from './pinned.mjs';
import { printFile } from './print.mjs';

const protos = join(root, 'proto/stampgate/v1');

/** The releases in npm that the tests read, each with a day of its own. */
export const npmReleases = () =>
  typesVersions.map((version, index) => npmRelease(version, `2026-01-${String(index + 1).padStart(2, '0')}`));

/** Runs buf in a folder. */
export function runBuf(args, folder) {
  execFileSync(process.execPath, [buf, ...args], { cwd: folder, stdio: ['ignore', 'inherit', 'inherit'] });
}

/**
 * The state after a step. `changes` are sentences about what the step changes, `undecided` those about disagreements of
 * sources, and `texts` are the protos that the generator makes, by their paths.
 * @typedef {{version: string, changes: string[], undecided: string[], methods: import('./operations.mjs').Method[],
 *   unreviewed: string[], texts: Map<string, string>, lock: import('./lock.mjs').LockContent}} Step
 */

export class Replay {
  /** @type {Step[]} */
  steps = [];
  catalog = emptyCatalog();
  lock = new Lock(emptyLock());

  /** @param {import('./reviewed.mjs').Reviewed} reviewed the tables, which can get more entries between two steps */
  constructor(reviewed) {
    this.reviewed = reviewed;
  }

  /**
   * Follows these releases in one step, which has the version of the last of them.
   * @param {import('./release.mjs').ReadRelease[]} releases
   */
  follow(releases) {
    const { changes, undecided } = mergeReleases(this.catalog, releases, this.reviewed.sources);
    const { files, methods, unreviewed } = makeApi(this.reviewed.complete(this.catalog), this.reviewed, this.lock);
    this.steps.push({
      version: releases.at(-1).release.version,
      changes: changes.flatMap(({ sentences }) => sentences),
      undecided,
      methods,
      unreviewed,
      texts: new Map(files.map((file) => [file.path, printFile(file)])),
      lock: structuredClone(this.lock.content),
    });
  }

  /** Writes the protos of a step to a new folder: those that the generator made, and those that are written by hand. */
  writeProtos({ texts }, folder) {
    const made = new Set(this.steps.at(-1).texts.keys());
    for (const [path, text] of texts) {
      mkdirSync(dirname(join(folder, path)), { recursive: true });
      writeFileSync(join(folder, path), text);
    }
    for (const name of readdirSync(protos)) {
      if (!made.has(`stampgate/v1/${name}`)) cpSync(join(protos, name), join(folder, 'stampgate/v1', name));
    }
    writeFileSync(join(folder, 'buf.yaml'), 'version: v2\nbreaking:\n  use:\n    - WIRE\n');
  }
}
