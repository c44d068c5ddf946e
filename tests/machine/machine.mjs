// A simulated machine, on which one process runs at a time. The test controls the machine's wall clock, its disk and
// its power. Build //tests/machine:all before you use it.
import { closeSync, copyFileSync, mkdirSync, openSync, readFileSync, readSync, readdirSync, rmSync } from 'node:fs';
import { statSync, writeFileSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { until } from '../end_to_end/processes.mjs';
import { binary } from '../paths.mjs';
import { cutPower } from './power_cut.mjs';

// The members of `Control` in control.h, in order.
const MEMBERS = [
  'clockOffsetNs',
  'random',
  'failingSkip',
  'failingCount',
  'failingKeep256',
  'hanging',
  'slowUs',
  'freeBytes',
  'writeBack1024',
  'syncs',
  'failed',
  'waiting',
  'refused',
];
const MATCH_AT = MEMBERS.length * 8;
const MATCH_BYTES = 128;
const CONTROL_BYTES = 4096;

/** Returns true if the machine tracks the content of the file `name`. Must agree with IsTracked in watched_path.h. */
export const isTracked = (name) => !name.endsWith('-shm') && !name.endsWith('.lock');

/**
 * Returns the environment with which a process loads this library of //tests/machine before the system's libraries.
 * ASan's allocator must not read the clock: clock.cc calls dlsym, which frees memory, so the allocator would wait for
 * itself.
 */
export const preloaded = (library) => ({
  LD_PRELOAD: binary(`tests/machine/${library}`),
  ASAN_OPTIONS: [process.env.ASAN_OPTIONS, 'allocator_release_to_os_interval_ms=-1'].filter(Boolean).join(':'),
});

export class Machine {
  #control;

  /**
   * Files that exist in `watched` count as synced.
   * @param {string} folder the folder of the machine's own state, which must be on the same file system as `watched`
   * @param {string} watched the folder whose files are on the machine's disk
   */
  constructor(folder, watched) {
    this.folder = folder;
    this.watched = watched;
    mkdirSync(folder, { recursive: true });
    const control = join(folder, 'control');
    writeFileSync(control, Buffer.alloc(CONTROL_BYTES));
    this.#control = openSync(control, 'r+');
    this.#set('freeBytes', -1);
    this.settle();
  }

  close() {
    closeSync(this.#control);
  }

  /** The environment variables with which a process runs on this machine. */
  get env() {
    return {
      ...preloaded('libmachine.so'),
      STAMPGATE_MACHINE: this.folder,
      STAMPGATE_MACHINE_WATCHED: this.watched,
    };
  }

  /** The time by which the machine's wall clock is ahead of the system's. A test can set it at any time. */
  get clockOffsetMs() {
    return Number(this.#get('clockOffsetNs')) / 1e6;
  }

  set clockOffsetMs(ms) {
    this.#set('clockOffsetNs', Math.round(ms * 1e6));
  }

  nowMs() {
    return Date.now() + this.clockOffsetMs;
  }

  /** Sets the seed of the random choices of libmachine.so. */
  seed(number) {
    this.#set('random', number);
  }

  /**
   * Makes syncs fail: a failing sync returns EIO. The pages then count as clean, although the disk does not have them.
   * @param {object} how
   * @param {string} [how.match] fails only syncs of files and folders whose path contains this text; the path of a
   *     folder ends in a slash
   * @param {number} [how.skip] the number of matching syncs that succeed first
   * @param {number} [how.count] the number of syncs that fail after these
   * @param {number} [how.keep] the share of the dirty pages that a failing sync writes to the disk nevertheless
   */
  failSyncs({ match = '', skip = 0, count = 1, keep = 0 }) {
    this.#match(match);
    this.#set('failingKeep256', Math.round(keep * 256));
    this.#set('failingSkip', skip);
    this.#set('failingCount', count);
  }

  /** Lets the next `skip` matching syncs succeed, and makes all later ones wait until release() is called. */
  hang({ match = '', skip = 0 } = {}) {
    this.#match(match);
    this.#set('waiting', 0); // a killed process may have left waiting syncs
    this.#set('hanging', 1 + skip);
  }

  /** Sets the minimum duration of every sync. */
  setSyncMs(ms) {
    this.#set('slowUs', Math.round(ms * 1000));
  }

  /** Sets the number of bytes by which files can grow before the disk is full. */
  setFreeBytes(bytes) {
    this.#set('freeBytes', bytes);
  }

  /** Sets the probability that some dirty pages of a file are written to the disk after a write. */
  setWriteBack(probability) {
    this.#set('writeBack1024', Math.round(probability * 1024));
  }

  /** Lets syncs succeed again and removes the limit of free bytes. Does not undo the effects of failed syncs. */
  release() {
    for (const name of ['failingCount', 'failingSkip', 'hanging']) this.#set(name, 0);
    this.#set('freeBytes', -1);
  }

  /**
   * The numbers of syncs that succeeded, that failed, and that wait now, and of writes that failed because the disk was
   * full.
   */
  get counts() {
    const names = ['syncs', 'failed', 'waiting', 'refused'];
    return Object.fromEntries(names.map((name) => [name, Number(this.#get(name))]));
  }

  /** Waits until `look` returns true for the counts; `what` describes this event in an error. */
  waitFor(look, what) {
    return until(() => look(this.counts), what);
  }

  /**
   * Cuts the power: the files then have the synced data, and a random part of the data that was only in the page cache.
   * Requires that no process runs.
   * @param {import('../end_to_end/random.mjs').Random} random
   * @param {object} [options]
   * @param {number} [options.pieceBytes] the size of the pieces that the disk writes: 512 or 4096
   * @param {number} [options.keep] the probability that the disk has written a piece that was not synced
   */
  cutPower(random, options) {
    cutPower(this, random, options);
    this.settle();
  }

  /** Writes the whole page cache to the disk. Requires that no process runs. */
  settle() {
    for (const kind of ['disk', 'dirty', 'entries', 'kept']) {
      rmSync(join(this.folder, kind), { recursive: true, force: true });
      mkdirSync(join(this.folder, kind));
    }
    this.#settleFolder('');
  }

  #settleFolder(name) {
    const entries = readdirSync(join(this.watched, name), { withFileTypes: true });
    let listing = '';
    for (const entry of entries) {
      const inner = join(name, entry.name);
      if (entry.isDirectory()) this.#settleFolder(inner);
      if (!entry.isFile()) continue;
      const path = join(this.watched, inner);
      const { ino } = statSync(path);
      listing += `${ino}/${entry.name}/`;
      if (isTracked(inner)) copyFileSync(path, join(this.folder, 'disk', String(ino)));
    }
    writeFileSync(join(this.folder, 'entries', entriesFile(name)), `${listing}\n`);
  }

  #match(text) {
    const bytes = Buffer.alloc(MATCH_BYTES);
    if (bytes.write(text) === MATCH_BYTES) throw new Error('the text is too long');
    writeSync(this.#control, bytes, 0, MATCH_BYTES, MATCH_AT);
  }

  #get(name) {
    const bytes = Buffer.alloc(8);
    readSync(this.#control, bytes, 0, 8, MEMBERS.indexOf(name) * 8);
    return bytes.readBigInt64LE();
  }

  #set(name, value) {
    const bytes = Buffer.alloc(8);
    bytes.writeBigInt64LE(BigInt(value));
    writeSync(this.#control, bytes, 0, 8, MEMBERS.indexOf(name) * 8);
  }
}

/** The name of the file for a folder's entries, as folder_entries.h defines it. */
export const entriesFile = (folder) => folder.replaceAll('/', '%') || '%';

/** Returns the states of a folder that the disk may have, the oldest first. Each state maps names to inodes. */
export function entryStates(machine, folder) {
  const text = readFileSync(join(machine.folder, 'entries', entriesFile(folder)), 'utf8');
  return text
    .split('\n')
    .filter((_, index, lines) => index < lines.length - 1)
    .map((line) => {
      const parts = line.split('/');
      const state = new Map();
      for (let at = 0; at + 1 < parts.length; at += 2) state.set(parts[at + 1], parts[at]);
      return state;
    });
}
