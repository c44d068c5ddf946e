// What Linux tells about a process, and how tests wait for what nobody announces.
import { readFileSync, readdirSync, readlinkSync } from 'node:fs';
import { setTimeout as pause } from 'node:timers/promises';
import { binary } from '../paths.mjs';
import { HANG_MS } from './harness.mjs';

/** Loads of the full size, for whoever has minutes and not seconds. */
export const LONG = process.env.STAMPGATE_LONG === '1';

/** How many descriptors the process has open. */
export const descriptorsOf = (pid) => readdirSync(`/proc/${pid}/fd`).length;

/** The paths of the process's open files; none if it has gone. */
export function openFilesOf(pid) {
  const folder = `/proc/${pid}/fd`;
  try {
    return readdirSync(folder).map((name) => readlinkSync(`${folder}/${name}`));
  } catch {
    return []; // closed meanwhile
  }
}

/** How much memory of the process is in RAM. */
export function residentBytes(pid) {
  const [, kibibytes] = /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'));
  return Number(kibibytes) * 1024;
}

/** Whether the gateway is a sanitizer's build, whose memory says nothing. */
export const isSanitized = () => readFileSync(binary('gateway/stampgate')).includes('__asan_init');

/** Resolves when `look`, or what it promises, has become true; `what` says what is waited for. */
export async function until(look, what, timeoutMs = HANG_MS) {
  const end = Date.now() + timeoutMs;
  while (!(await look())) {
    if (Date.now() > end) throw new Error(`it never came to this: ${what}`);
    await pause(5);
  }
}
