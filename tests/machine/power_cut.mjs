// Computes what a power cut leaves: of every file what the disk certainly had, and any pieces of what only the page
// cache had, in any order; of every folder the names at one moment since its last sync.
import { linkSync, readFileSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { entryStates, isTracked } from './machine.mjs';

const PAGE_BYTES = 4096;

/**
 * What a power cut now would leave; see Machine.cutPower().
 * @returns {{name: string, inode: string, content: Buffer}[]} the names below the watched folder
 */
export function remains(machine, random, { pieceBytes = 512, keep = 0.5 } = {}) {
  const chance = () => random.below(1024) < keep * 1024;
  const files = cachedFiles(machine);
  const contents = new Map();
  const left = [];
  for (const folder of foldersOf(machine.watched)) {
    for (const [name, inode] of namesLeft(machine, folder, random)) {
      if (!isTracked(name)) continue;
      if (!contents.has(inode)) {
        contents.set(inode, contentLeft(machine, inode, files.get(inode), { random, chance, pieceBytes }));
      }
      left.push({ name: join(folder, name), inode, content: contents.get(inode) });
    }
  }
  return left;
}

/** Replaces the watched folder's content by what remains. */
export function cutPower(machine, random, options) {
  const { watched } = machine;
  const modes = new Map([...cachedFiles(machine)].map(([inode, path]) => [inode, statSync(path).mode & 0o777]));
  const left = remains(machine, random, options);
  for (const folder of foldersOf(watched)) {
    for (const name of filesIn(join(watched, folder))) {
      // The content of a mapped file is undefined, and its user creates it again.
      if (isTracked(name) || name.endsWith('-shm')) rmSync(join(watched, folder, name));
    }
  }
  const made = new Map();
  for (const { name, inode, content } of left) {
    const path = join(watched, name);
    if (made.has(inode)) linkSync(made.get(inode), path);
    else writeFileSync(path, content, { mode: modes.get(inode) });
    made.set(inode, path);
  }
}

function foldersOf(watched, name = '') {
  const inner = readdirSync(join(watched, name), { withFileTypes: true }).filter((entry) => entry.isDirectory());
  return [name, ...inner.flatMap((entry) => foldersOf(watched, join(name, entry.name)))];
}

const filesIn = (folder) =>
  readdirSync(folder, { withFileTypes: true }).filter((entry) => entry.isFile()).map(({ name }) => name);

/** Finds each inode's content in the page cache. */
function cachedFiles({ folder, watched }) {
  const folders = [join(folder, 'kept'), ...foldersOf(watched).map((name) => join(watched, name))];
  const paths = folders.flatMap((each) => filesIn(each).map((name) => join(each, name)));
  return new Map(paths.map((path) => [String(statSync(path).ino), path]));
}

/** The inode of each name, at one of the moments since the folder was synced. */
function namesLeft(machine, folder, random) {
  const path = join(machine.watched, folder);
  const now = new Map(filesIn(path).map((name) => [name, String(statSync(join(path, name)).ino)]));
  let states = [];
  try {
    states = entryStates(machine, folder);
  } catch (error) {
    // The process made the folder and never synced it: none of its names is certain.
    if (error.code !== 'ENOENT') throw error;
    states = [new Map()];
  }
  const state = random.pick([...states, now]);
  return new Map([...state].sort());
}

function contentLeft({ folder }, inode, cachedPath, { random, chance, pieceBytes }) {
  const read = (path) => {
    try {
      return readFileSync(path);
    } catch (error) {
      if (error.code !== 'ENOENT') throw error;
      return Buffer.alloc(0);
    }
  };
  const stored = read(join(folder, 'disk', inode));
  const cached = read(cachedPath);
  const dirty = read(join(folder, 'dirty', inode));
  const left = Buffer.alloc(sizeLeft(stored.length, cached.length, { random, chance, pieceBytes }));
  stored.copy(left);
  for (let at = 0; at < cached.length; at += pieceBytes) {
    if (dirty[Math.floor(at / PAGE_BYTES)] !== 1 || at >= left.length || !chance()) continue;
    cached.copy(left, at, at, at + pieceBytes);
  }
  return left;
}

/** A truncated file is truncated or not; a file that grew has grown to the end of any of its pieces. */
function sizeLeft(stored, cached, { random, chance, pieceBytes }) {
  if (cached <= stored) return chance() ? cached : stored;
  const pieces = Math.ceil((cached - stored) / pieceBytes);
  const end = (Math.floor(stored / pieceBytes) + random.below(pieces + 1)) * pieceBytes;
  return random.below(3) === 0 ? cached : Math.min(cached, Math.max(stored, end));
}
