// Reads Linux's data about a process, and waits for conditions by polling.
import { readFileSync, readdirSync, readlinkSync } from 'node:fs';
import { setTimeout as pause } from 'node:timers/promises';
import { binary } from '../paths.mjs';
import { HANG_MS } from './harness.mjs';

/** Whether the tests run their long rounds, which take minutes instead of seconds. */
export const LONG = process.env.STAMPGATE_LONG === '1';

/** The number of open file descriptors of the process. */
export const descriptorsOf = (pid) => readdirSync(`/proc/${pid}/fd`).length;

/** The paths of the process's open files; an empty list if the process has ended. */
export function openFilesOf(pid) {
  const folder = `/proc/${pid}/fd`;
  try {
    return readdirSync(folder).map((name) => readlinkSync(`${folder}/${name}`));
  } catch {
    return []; // closed meanwhile
  }
}

/** The number of threads of the process. */
export const threadsOf = (pid) => readdirSync(`/proc/${pid}/task`).length;

/** The number of TCP sockets that the process holds open, also of those whose other side has closed the connection. */
export function tcpSocketsOf(pid) {
  const tables = ['tcp', 'tcp6'].map((name) => readFileSync(`/proc/${pid}/net/${name}`, 'utf8'));
  const inodes = new Set(
    tables
      .join('\n')
      .split('\n')
      .map((line) => line.trim().split(/\s+/)[9]),
  );
  return openFilesOf(pid).filter((path) => path.startsWith('socket:') && inodes.has(path.slice(8, -1))).length;
}

const memoryOf = (pid, name) => {
  const [, kibibytes] = new RegExp(`^${name}:\\s+(\\d+) kB$`, 'm').exec(readFileSync(`/proc/${pid}/status`, 'utf8'));
  return Number(kibibytes) * 1024;
};

/** The resident memory of the process in bytes. */
export const residentBytes = (pid) => memoryOf(pid, 'VmRSS');

/** The most resident memory that the process has had. */
export const peakResidentBytes = (pid) => memoryOf(pid, 'VmHWM');

/** Whether the gateway was built with a sanitizer, which changes the use of memory. */
export const isSanitized = () => readFileSync(binary('gateway/stampgate')).includes('__asan_init');

/** Resolves when `look`, or the promise that it returns, has become true. `what` names the condition for the error. */
export async function until(look, what, timeoutMs = HANG_MS) {
  const end = Date.now() + timeoutMs;
  while (!(await look())) {
    if (Date.now() > end) throw new Error(`this condition was not met in time: ${what}`);
    await pause(5);
  }
}
