// A running driver: the program of one language that carries out the judge's commands.
import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';

/** The time in which a driver prints its next line. No case needs a third of it, even on a busy machine. */
export const LINE_TIMEOUT_MS = 45_000;

/** How much of the end of a driver's standard error the judge shows. */
const MAX_ERRORS = 1000;

/** The environment without the options with which Bazel's tests run Node.js. */
export const environment = (more = {}) => ({ ...process.env, NODE_OPTIONS: '', ...more });

export class Driver {
  #child;
  #lines = [];
  #waiting;
  #errors = '';
  #exited;
  #isOver = false;

  /**
   * Starts the program.
   * @param {{command: string[], env?: NodeJS.ProcessEnv}} program
   */
  constructor({ command: [file, ...args], env }) {
    this.#child = spawn(file, args, { stdio: ['pipe', 'pipe', 'pipe'], env: environment(env), detached: true });
    this.#child.stdin.on('error', () => {}); // the driver may have ended
    this.#child.stderr.on('data', (data) => (this.#errors = (this.#errors + data).slice(-MAX_ERRORS)));
    createInterface({ input: this.#child.stdout }).on('line', (line) => {
      this.#lines.push(line);
      this.#waiting?.();
    });
    this.#exited = new Promise((resolve) => {
      this.#child.on('error', (error) => {
        this.#errors += error.message;
        resolve(error.message);
      });
      this.#child.on('close', (status, signal) => resolve(status ?? signal));
    });
    this.#exited.then(() => {
      this.#isOver = true;
      this.#waiting?.();
    });
  }

  get pid() {
    return this.#child.pid;
  }

  send(command) {
    this.#child.stdin.write(`${JSON.stringify(command)}\n`);
  }

  /** Returns the next line that the driver prints, decoded. */
  async line() {
    const end = Date.now() + LINE_TIMEOUT_MS;
    while (this.#lines.length === 0) {
      if (this.#isOver) throw new Error(`the driver ended with ${await this.#exited}`);
      if (Date.now() >= end) throw new Error(`the driver printed no line in ${LINE_TIMEOUT_MS} ms`);
      await new Promise((resolve) => {
        const timer = setTimeout(resolve, end - Date.now());
        this.#waiting = () => (clearTimeout(timer), resolve(undefined));
      });
    }
    const line = this.#lines.shift();
    try {
      return JSON.parse(line);
    } catch {
      throw new Error(`the driver printed a line that is not JSON: ${line}`);
    }
  }

  /** Returns the lines that the driver has printed and nobody has read, and forgets what it has written as errors. */
  takeRest() {
    this.#errors = '';
    return this.#lines.splice(0);
  }

  /** Sends a command that the driver answers with one line. */
  async ask(command) {
    this.send(command);
    return this.line();
  }

  /** Closes the driver's standard input, and resolves to the exit status or the signal that ended the driver. */
  async end() {
    this.#child.stdin.end();
    const timer = setTimeout(() => this.#killGroup(), LINE_TIMEOUT_MS);
    const ending = await this.#exited;
    clearTimeout(timer);
    return ending;
  }

  /** Ends the driver and the processes that it has started, at once. */
  async kill() {
    this.#killGroup();
    await this.#exited;
  }

  #killGroup() {
    try {
      if (this.#child.pid) process.kill(-this.#child.pid, 'SIGKILL');
    } catch (error) {
      if (error.code !== 'ESRCH') throw error; // they have ended
    }
  }

  /** What the driver has written to its standard error. */
  get errors() {
    return this.#errors;
  }
}
