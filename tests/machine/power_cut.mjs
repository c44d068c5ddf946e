// Computes the files after a power cut. A file has the data that the disk certainly had, and random pieces of the data
// that was only in the page cache. A folder has the names that it had at one moment since its last sync.
import { linkSync, readFileSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { entryStates, isTracked } from './machine.mjs';

const PAGE_BYTES = 4096;

/**
 * Returns the files that a power cut at this moment would leave; see Machine.cutPower().
 * @returns {{name: string, inode: string, content: Buffer}[]} the files in the watched folder
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

/** Replaces the content of the watched folder by the files that a power cut leaves. */
export function cutPower(machine, random, options) {
  const { watched } = machine;
  const modes = new Map([...cachedFiles(machine)].map(([inode, path]) => [inode, statSync(path).mode & 0o777]));
  const left = remains(machine, random, options);
  for (const folder of foldersOf(watched)) {
    for (const name of filesIn(join(watched, folder))) {
      // Also removes the files that SQLite maps. Their content after a power cut is undefined, and SQLite creates them
      // again.
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
  readdirSync(folder, { withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map(({ name }) => name);

/** Maps each inode to the path of the file that has its content in the page cache. */
function cachedFiles({ folder, watched }) {
  const folders = [join(folder, 'kept'), ...foldersOf(watched).map((name) => join(watched, name))];
  const paths = folders.flatMap((each) => filesIn(each).map((name) => join(each, name)));
  return new Map(paths.map((path) => [String(statSync(path).ino), path]));
}

/** Maps the names in a folder to inodes, as they were at one random moment since the last sync of the folder. */
function namesLeft(machine, folder, random) {
  const path = join(machine.watched, folder);
  const now = new Map(filesIn(path).map((name) => [name, String(statSync(join(path, name)).ino)]));
  let states = [];
  try {
    states = entryStates(machine, folder);
  } catch (error) {
    // The process created the folder and never synced it, so the disk may have none of its names.
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

/**
 * The size of a file after the power cut. If the file was truncated, it has its old or its new size. If it grew, it
 * ends at its old end, at its new end, or at the end of a piece between them.
 */
function sizeLeft(stored, cached, { random, chance, pieceBytes }) {
  if (cached <= stored) return chance() ? cached : stored;
  const pieces = Math.ceil((cached - stored) / pieceBytes);
  const end = (Math.floor(stored / pieceBytes) + random.below(pieces + 1)) * pieceBytes;
  return random.below(3) === 0 ? cached : Math.min(cached, Math.max(stored, end));
}
