// The image's root folder, gathered as the recipe does it, and programs run in it as a container runtime would: without
// a container runtime.
import { execFileSync, spawnSync } from 'node:child_process';
import { chownSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { binary, root } from '../paths.mjs';

/** The image's user and group. */
export const USER = 65532;

/** Gathers the image in a folder that is removed when the test `t`, or `{after}` of a file, has ended: its path. */
export function collectTree(t) {
  const place = mkdtempSync(join(tmpdir(), 'stampgate-image-'));
  t.after(() => {
    execFileSync('chmod', ['-R', 'u+w', place]); // for whoever is not root
    rmSync(place, { recursive: true });
  });
  const tree = join(place, 'root');
  execFileSync(join(root, 'deploy/image/collect'), [binary('gateway/stampgate'), tree], { stdio: 'pipe' });
  return tree;
}

/** Why programs cannot be run in a tree on this machine; undefined if they can. */
export function whyNoRun() {
  if (process.getuid() !== 0) return 'only root can change the root folder';
  const { status } = spawnSync('unshare', ['--mount', 'true']);
  return status === 0 ? undefined : 'mount namespaces are not allowed here';
}

/**
 * Writes a command that runs `program` with the command's arguments in `tree`: as USER, without any capability, with a
 * root folder that is read-only, and the folder `volume` under its own path. Its process becomes the
 * program's. It changes `tree`: it makes the folders that are mounted on, as a runtime does.
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
    `cd '${tree}'`, // what has been mounted
    'mount --rbind /proc proc',
    `mount --bind '${volume}' '.${volume}'`,
    'mount -o remount,bind,ro .',
    `exec setpriv --no-new-privs chroot --userspec=${USER}:${USER} --groups=${USER} . '${program}' "$@"`,
  ];
  const outside = [...shell, `exec unshare --mount --propagation private '${command}.inside' "$@"`];
  for (const [file, lines] of [[`${command}.inside`, inside], [command, outside]]) {
    writeFileSync(file, `${lines.join('\n')}\n`, { mode: 0o755 });
  }
  return command;
}
