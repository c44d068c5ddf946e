// What the tests of the client packages share: their folders and pages, running programs, and keys.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { HANG_MS, writeKey } from '../end_to_end/harness.mjs';
import { wholeTree } from '../paths.mjs';
import { blocksOf } from '../readme/pages.mjs';
import { apiKeyNamed } from '../simulator/testing.mjs';

/** The folder of the sources of a language's package. */
export const sourceOf = (language) => join(wholeTree(), 'proto/clients', language);

/** The page of a language's package. */
export const pageOf = (language) => readFileSync(join(sourceOf(language), 'README.md'), 'utf8');

/** The code blocks of the page. */
export const snippetsOf = (language) => blocksOf(pageOf(language)).map(({ block }) => block);

/** The code blocks of README.md in a language, such as "ts". They have no imports. */
export const readmeSnippets = (language) =>
  blocksOf(readFileSync(join(wholeTree(), 'README.md'), 'utf8')).flatMap((each) =>
    each.language === language ? [each.block] : [],
  );

/**
 * Runs a program until it ends, or ends it when its output matches `until`.
 * @param {string[]} command
 * @param {object} options
 * @param {string} options.cwd
 * @param {NodeJS.ProcessEnv} [options.env] merged over the environment
 * @param {RegExp} [options.until]
 * @param {NodeJS.Signals} [options.signal] what ends it
 * @returns {Promise<{status: number | string, stdout: string, output: string}>} `output` also has the standard error
 */
export async function run([file, ...args], { cwd, env = {}, until, signal = 'SIGKILL' }) {
  // Bazel's tests run Node.js with options of their own.
  const { NODE_OPTIONS: _, ...inherited } = process.env;
  const child = spawn(file, args, { cwd, env: { ...inherited, ...env }, stdio: ['ignore', 'pipe', 'pipe'] });
  let [stdout, output] = ['', ''];
  for (const stream of [child.stdout, child.stderr]) {
    stream.on('data', (data) => {
      output += data;
      if (stream === child.stdout) stdout += data;
      if (until?.test(output)) child.kill(signal);
    });
  }
  const hang = setTimeout(() => child.kill('SIGKILL'), HANG_MS);
  const [status, killer] = await once(child, 'close');
  clearTimeout(hang);
  return { status: status ?? killer, stdout, output };
}

/**
 * A key in the config of a gateway.
 * @param {string} folder
 * @param {string} name
 * @param {string} apiKey the name of the fixture's key
 */
export const keyOf = (folder, name, apiKey) => ({
  name,
  file: writeKey(folder, apiKeyNamed(apiKey), `${name}.key`),
  all_organizations: true,
});
