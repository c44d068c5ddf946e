// Runs the Python samples of the pages.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { symlinkSync, writeFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { HANG_MS } from '../end_to_end/harness.mjs';
import { installed, root } from '../paths.mjs';

/** The gateway's address in the samples. */
const PORT = '127.0.0.1:7443';

const python = {
  ...process.env,
  // Uses Debian's Python, because deploy/install has installed packages for its version.
  PATH: `/usr/bin${delimiter}${process.env.PATH}`,
  PYTHONPATH: installed('readme-python', 'tests/readme/requirements.txt'),
  PYTHONUNBUFFERED: '1',
};

/**
 * Runs the shell script `text` in `folder`.
 * @param {string} folder
 * @param {string} text
 * @param {(child: import('node:child_process').ChildProcess) => void} [onStart]
 * @returns {Promise<{status: number | string, stdout: string, stderr: string}>}
 */
export function shell(folder, text, onStart = () => {}) {
  return new Promise((resolve) => {
    const options = { cwd: folder, env: python, timeout: HANG_MS };
    const child = execFile('/bin/sh', ['-ec', text], options, (error, stdout, stderr) => {
      resolve({ status: error ? (error.code ?? error.signal) : 0, stdout, stderr });
    });
    onStart(child);
  });
}

/** Generates the Python code of the protos in `folder`, with the command of the page. */
export async function generate(folder, command) {
  symlinkSync(join(root, 'proto'), join(folder, 'proto'));
  const { status, stderr } = await shell(folder, command);
  assert.equal(status, 0, stderr);
}

/** Runs the sample in `folder`, which has the generated code, with another address of the gateway. */
export function runSample(folder, sample, address, onStart) {
  assert.ok(sample.includes(PORT));
  writeFileSync(join(folder, 'sample.py'), sample.replaceAll(PORT, address));
  return shell(folder, 'exec python3 sample.py', onStart);
}
