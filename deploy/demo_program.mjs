// A program that a demonstration starts, whose output it prints, and for whose lines it waits.
import { spawn } from 'node:child_process';
import { dirname, join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';

/** Ends the demonstration with an error. */
export function fail(what) {
  console.error(`the demonstration failed: ${what}`);
  process.exit(1);
}

export class DemoProgram {
  #waiting = [];
  #lines = [];

  /** Starts the program `file` of this folder. Prints each line of its output after `name`. */
  constructor(name, file, ...args) {
    const program = join(dirname(fileURLToPath(import.meta.url)), file);
    this.child = spawn(process.execPath, [program, ...args], { stdio: ['ignore', 'pipe', 'inherit'] });
    this.child.on('exit', (status) => status && fail(`the ${name} exited with ${status}`));
    createInterface({ input: this.child.stdout }).on('line', (line) => {
      console.log(`  ${name}: ${line}`);
      this.#lines.push(line);
      this.#waiting = this.#waiting.filter((look) => !look());
    });
  }

  /** The first line that contains `text`, or undefined. */
  lineWith(text) {
    return this.#lines.find((line) => line.includes(text));
  }

  /** Resolves when the program has printed a line that contains `text`. */
  said(text) {
    return new Promise((resolve) => {
      const look = () => this.lineWith(text) !== undefined && (resolve(), true);
      if (!look()) this.#waiting.push(look);
    });
  }

  kill() {
    return new Promise((resolve) => {
      this.child.once('exit', resolve);
      this.child.kill('SIGKILL');
    });
  }
}
