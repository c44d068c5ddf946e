// A small filesystem that is mounted only in the mount namespace of the processes that use it.
import { spawnSync } from 'node:child_process';
import { closeSync, mkdirSync, openSync, truncateSync, writeFileSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { binary } from '../paths.mjs';

/** A script that mounts a disk of this size. */
export const mount = (mebibytes, path) => `mount -t tmpfs -o size=${mebibytes}m tmpfs '${path}'`;

/** The reason why this machine cannot mount such a filesystem, or false. */
export function reasonToSkip() {
  const { status, error, stderr } = spawnSync('unshare', ['-rm', 'sh', '-c', mount(1, '/mnt')], { encoding: 'utf8' });
  return status === 0 ? false : `no filesystem can be mounted in a namespace: ${error ?? stderr.trim()}`;
}

/**
 * Prepares a disk of this size for a gateway. `command` starts the gateway with the disk mounted, `inside` is the
 * disk's path for the gateway, and `seenFrom(gateway)` is its path for the test.
 */
export function smallDisk(folder, mebibytes) {
  const inside = join(folder, 'disk');
  mkdirSync(inside);
  const command = join(folder, 'stampgate-on-small-disk');
  const run = `${mount(mebibytes, inside)} && exec '${binary('gateway/stampgate')}' "$@"`;
  writeFileSync(command, `#!/bin/sh\nexec unshare -rm sh -c '${run.replaceAll("'", "'\\''")}' sh "$@"\n`, {
    mode: 0o700,
  });
  return { inside, command, seenFrom: (gateway) => `/proc/${gateway.child.pid}/root${inside}` };
}

/** Writes a file that fills the disk except for `left` bytes. */
export function fill(path, left) {
  const file = openSync(path, 'a');
  let size = 0;
  try {
    for (const piece of [65536, 4096]) {
      try {
        for (;;) size += writeSync(file, Buffer.alloc(piece));
      } catch (error) {
        if (error.code !== 'ENOSPC') throw error;
      }
    }
  } finally {
    closeSync(file);
  }
  truncateSync(path, Math.max(0, size - left));
}
