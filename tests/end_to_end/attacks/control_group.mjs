// Control groups of Linux (cgroups) that limit the memory of a process: version 1 or version 2, whichever this machine
// lets the test change.
import { existsSync, mkdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { until } from '../processes.mjs';

const ROOT = '/sys/fs/cgroup';

/** The files of each version in the folder of a group. The optional ones forbid swap. */
const VERSIONS = [
  {
    root: join(ROOT, 'memory'),
    own: /^\d+:(?:[^:]*,)?memory(?:,[^:]*)?:(.*)$/m,
    limit: 'memory.limit_in_bytes',
    noSwap: (bytes) => ['memory.memsw.limit_in_bytes', bytes],
    most: 'memory.max_usage_in_bytes',
  },
  {
    root: existsSync(join(ROOT, 'unified')) ? join(ROOT, 'unified') : ROOT,
    own: /^0::(.*)$/m,
    limit: 'memory.max',
    noSwap: () => ['memory.swap.max', 0],
    most: 'memory.peak',
  },
];

let made = 0;

export class ControlGroup {
  /**
   * Creates a group with this limit.
   * @throws {Error} if this machine lets the test create none
   */
  static create(limitBytes) {
    const reasons = [];
    for (const version of VERSIONS) {
      const [, own = '/'] = version.own.exec(readFileSync('/proc/self/cgroup', 'utf8')) ?? [];
      // Version 2 permits no limits in a group beside processes, except in the root.
      for (const parent of new Set([own, dirname(own), '/'].map((path) => join(version.root, path)))) {
        try {
          return new ControlGroup(version, parent, limitBytes);
        } catch (error) {
          reasons.push(error.message);
        }
      }
    }
    throw new Error(reasons.join('; '));
  }

  constructor(version, parent, limitBytes) {
    this.version = version;
    this.folder = join(parent, `stampgate-test-${process.pid}-${(made += 1)}`);
    if (!existsSync(parent)) throw new Error(`there is no ${parent}`);
    const controllers = join(parent, 'cgroup.subtree_control');
    if (existsSync(controllers)) writeFileSync(controllers, '+memory');
    mkdirSync(this.folder);
    try {
      writeFileSync(join(this.folder, version.limit), `${limitBytes}`);
      const [swap, bytes] = version.noSwap(limitBytes);
      if (existsSync(join(this.folder, swap))) writeFileSync(join(this.folder, swap), `${bytes}`);
    } catch (error) {
      rmdirSync(this.folder);
      throw error;
    }
  }

  /** A command of sh after which the shell is in the group. */
  get join() {
    return `echo $$ > '${join(this.folder, 'cgroup.procs')}'`;
  }

  /**
   * The most memory that the group has used, in bytes: with the sockets' memory and the cached files, which the system
   * takes back when the group needs memory. Undefined if the system does not count it.
   */
  get mostBytes() {
    const file = join(this.folder, this.version.most);
    return existsSync(file) ? Number(readFileSync(file, 'utf8')) : undefined;
  }

  /** Removes the group, whose processes must have ended. The system lets go of them a little later. */
  remove() {
    const isRemoved = () => {
      try {
        rmdirSync(this.folder);
      } catch (error) {
        return error.code !== 'EBUSY';
      }
      return true;
    };
    return until(isRemoved, `${this.folder} is removed`);
  }
}

/** The reason why this machine lets a test create no such group; undefined if it does. */
export async function reasonWithoutControlGroup() {
  try {
    await ControlGroup.create(1 << 28).remove();
    return undefined;
  } catch (error) {
    return `no memory control group is writable: ${error.message}`;
  }
}
