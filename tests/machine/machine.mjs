// A machine for one process at a time, whose wall clock, disk and power the test controls. Build //tests/machine:all
// first.
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

/** Like the same function in watched_path.h. */
export const isTracked = (name) => !name.endsWith('-shm') && !name.endsWith('.lock');

/** The environment of a process with this library of //tests/machine in front of the system's. */
export const preloaded = (library) => ({
  LD_PRELOAD: binary(`tests/machine/${library}`),
  ASAN_OPTIONS: [process.env.ASAN_OPTIONS, 'verify_asan_link_order=0'].filter(Boolean).join(':'),
});

export class Machine {
  #control;

  /**
   * Existing files in `watched` count as on the disk.
   * @param {string} folder for the machine's own state, on the file system of `watched`
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

  /** The environment of the process. */
  get env() {
    return {
      ...preloaded('libmachine.so'),
      STAMPGATE_MACHINE: this.folder,
      STAMPGATE_MACHINE_WATCHED: this.watched,
    };
  }

  /** How far the process's wall clock is ahead of the system's. May be set at any time. */
  get clockOffsetMs() {
    return Number(this.#get('clockOffsetNs')) / 1e6;
  }

  set clockOffsetMs(ms) {
    this.#set('clockOffsetNs', Math.round(ms * 1e6));
  }

  nowMs() {
    return Date.now() + this.clockOffsetMs;
  }

  /** Seeds the library's random choices. */
  seed(number) {
    this.#set('random', number);
  }

  /**
   * Makes syncs fail: they return EIO, and the pages count as clean although they are not on the disk.
   * @param {object} how
   * @param {string} [how.match] only for files and folders (with a slash at the end) whose path contains this
   * @param {number} [how.skip] this many still succeed
   * @param {number} [how.count] then this many fail
   * @param {number} [how.keep] the share of the dirty pages that reach the disk nevertheless
   */
  failSyncs({ match = '', skip = 0, count = 1, keep = 0 }) {
    this.#match(match);
    this.#set('failingKeep256', Math.round(keep * 256));
    this.#set('failingSkip', skip);
    this.#set('failingCount', count);
  }

  /** Makes matching syncs wait until release(), after the next `skip`. */
  hang({ match = '', skip = 0 } = {}) {
    this.#match(match);
    this.#set('waiting', 0); // forgets those of a killed process
    this.#set('hanging', 1 + skip);
  }

  /** Sets the minimum duration of every sync. */
  setSyncMs(ms) {
    this.#set('slowUs', Math.round(ms * 1000));
  }

  /** Sets how many bytes files may still grow before the disk is full. */
  setFreeBytes(bytes) {
    this.#set('freeBytes', bytes);
  }

  /** Sets the probability that some dirty pages of a file are written to the disk after a write. */
  setWriteBack(probability) {
    this.#set('writeBack1024', Math.round(probability * 1024));
  }

  /** Ends failing and hanging syncs, and the full disk. Effects of failed syncs stay. */
  release() {
    for (const name of ['failingCount', 'failingSkip', 'hanging']) this.#set(name, 0);
    this.#set('freeBytes', -1);
  }

  /** How many syncs succeeded, failed, and wait now, and how many writes failed because the disk was full. */
  get counts() {
    const names = ['syncs', 'failed', 'waiting', 'refused'];
    return Object.fromEntries(names.map((name) => [name, Number(this.#get(name))]));
  }

  /** Resolves when `look` returns true for the counts. */
  waitFor(look, what) {
    return until(() => look(this.counts), what);
  }

  /**
   * Cuts the power. No process may run. Leaves what the disk had, and some of what only the page cache had.
   * @param {import('../end_to_end/random.mjs').Random} random
   * @param {object} [options]
   * @param {number} [options.pieceBytes] the disk's write unit: 512 or 4096
   * @param {number} [options.keep] the probability that the disk has a piece that was not synced
   */
  cutPower(random, options) {
    cutPower(this, random, options);
    this.settle();
  }

  /** Gives the disk the content of the page cache. No process may run. */
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

/** In the form of folder_entries.h. */
export const entriesFile = (folder) => folder.replaceAll('/', '%') || '%';

/** The names of a folder in the states that the disk may have, oldest first; each state maps names to inodes. */
export function entryStates(machine, folder) {
  const text = readFileSync(join(machine.folder, 'entries', entriesFile(folder)), 'utf8');
  return text.split('\n').filter((_, index, lines) => index < lines.length - 1).map((line) => {
    const parts = line.split('/');
    const state = new Map();
    for (let at = 0; at + 1 < parts.length; at += 2) state.set(parts[at + 1], parts[at]);
    return state;
  });
}
