// Creates the image's root folder as the Dockerfile does, and runs programs in it as a container runtime would. Needs
// no container runtime.
import { execFileSync, spawnSync } from 'node:child_process';
import { chownSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { binary, root } from '../paths.mjs';

/** The image's user and group. */
export const USER = 65532;

/** Creates the image's root folder and returns its path. The folder is removed when `t`, a test or `{after}`, ends. */
export function collectTree(t) {
  const place = mkdtempSync(join(tmpdir(), 'stampgate-image-'));
  t.after(() => {
    execFileSync('chmod', ['-R', 'u+w', place]); // so that a user other than root can remove it
    rmSync(place, { recursive: true });
  });
  const tree = join(place, 'root');
  execFileSync(join(root, 'deploy/image/collect'), [binary('gateway/stampgate'), tree], { stdio: 'pipe' });
  return tree;
}

/** The reason why this machine cannot run programs in a tree of the image; undefined if it can. */
export function whyNoRun() {
  if (process.getuid() !== 0) return 'only root can change the root folder';
  const { status } = spawnSync('unshare', ['--mount', 'true']);
  return status === 0 ? undefined : 'mount namespaces are not allowed here';
}

/**
 * Writes a script and returns its path. The script executes `program` with the script's arguments in `tree`: as USER,
 * without capabilities, with a read-only root folder, and with the folder `volume` at its own path. This function
 * creates the mount points in `tree`, as a container runtime does.
 */
export function runner(tree, volume, { program = '/stampgate', name = 'in-image' } = {}) {
  for (const path of ['/proc', volume]) mkdirSync(join(tree, path), { recursive: true });
  chownSync(volume, USER, USER);
  const command = join(volume, name);
  const shell = ['#!/bin/sh', 'set -eu'];
  const inside = [
    ...shell,
    `cd '${tree}'`,
    'mount --bind . .',
    `cd '${tree}'`, // now the mounted folder
    'mount --rbind /proc proc',
    `mount --bind '${volume}' '.${volume}'`,
    'mount -o remount,bind,ro .',
    `exec setpriv --no-new-privs chroot --userspec=${USER}:${USER} --groups=${USER} . '${program}' "$@"`,
  ];
  const outside = [...shell, `exec unshare --mount --propagation private '${command}.inside' "$@"`];
  const write = (file, lines) => writeFileSync(file, `${lines.join('\n')}\n`, { mode: 0o755 });
  write(`${command}.inside`, inside);
  write(command, outside);
  return command;
}
