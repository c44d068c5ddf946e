// Where a subscriber keeps its cursor.
import { open, readFile, rename, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';

/** Keeps the cursor of the last event that a subscriber has processed. */
export interface CursorStore {
  /** The saved cursor, or undefined if none was saved. */
  load(): string | undefined | Promise<string | undefined>;
  save(cursor: string): void | Promise<void>;
}

/** Keeps the cursor in a file, which it replaces by a rename. A saved cursor survives a power cut. */
export class FileCursor implements CursorStore {
  constructor(readonly path: string) {}

  async load(): Promise<string | undefined> {
    const cursor = await readFile(this.path, 'utf8').catch((error: NodeJS.ErrnoException) => {
      if (error.code !== 'ENOENT') throw error;
    });
    if (cursor?.trim() === '') throw new Error(`${this.path} contains no cursor`);
    return cursor?.trim();
  }

  async save(cursor: string): Promise<void> {
    const next = `${this.path}.new`;
    await writeFile(next, cursor);
    await sync(next, 'r+');
    await rename(next, this.path);
    // Windows cannot sync a folder.
    if (process.platform !== 'win32') await sync(dirname(this.path), 'r');
  }
}

/** Waits until the bytes of a file, or the names in a folder, are on the disk. */
async function sync(path: string, flags: string): Promise<void> {
  const file = await open(path, flags);
  await file.sync().finally(() => file.close());
}
