/**
 * Compares two folders with code that other people wrote. Nothing in them is executed, and no link in them is followed. What is to be shown is
 * copied under numbers, without secrets, and git compares the copies: names of files reach no command line, and settings in the code no git.
 */
import { createHash } from "node:crypto"
import { createReadStream } from "node:fs"
import { lstat, mkdir, readdir, readFile, readlink, writeFile } from "node:fs/promises"
import { join } from "node:path"
import { withMemoryLimit } from "@superstep/toolkit/exec/limited-command"
import { CommandFailed, runCommand } from "@superstep/toolkit/exec/run-command"
import { isSecretFile } from "../sources/secret-files.js"
import {
  type ChangedFile,
  type CodeChanges,
  codeChangeLimits,
  hunksOf,
  type Omission,
  shownPath,
  unshowable,
} from "./changed-file.js"

interface FoundFile {
  readonly size: number
  readonly isLink: boolean
  readonly isExecutable: boolean
}

/**
 * By path. A name in a repository is bytes, and need not be UTF-8, so each character of a path stands for a byte here (`latin1`); `shownPath`
 * is for people.
 */
type Tree = ReadonlyMap<string, FoundFile>

const bytesOf = (path: string): Buffer => Buffer.from(path, "latin1")
const fileAt = (folder: string, path: string): Buffer => Buffer.concat([Buffer.from(`${folder}/`), bytesOf(path)])

export interface Compared {
  /** Folders with the code of both. Sources limit how many files they have. */
  readonly before: string
  readonly after: string
  /** An empty folder that only we may write to. */
  readonly work: string
  /** Takes secrets out of a text. */
  readonly hide: (text: string) => string
  readonly signal: AbortSignal
  /** Where git is found. */
  readonly path: string
}

/** @throws the reason of the signal */
export async function compareTrees(compared: Compared): Promise<CodeChanges> {
  const { before, after, signal } = compared
  const [one, other] = [await filesOf(before, signal), await filesOf(after, signal)]
  const paths = [...new Set([...one.keys(), ...other.keys()])].sort()
  const changed: string[] = []
  for (const path of paths) {
    signal.throwIfAborted()
    if (!(await isSame(compared, path, one.get(path), other.get(path)))) changed.push(path)
  }
  const named = changed.slice(0, codeChangeLimits.files)
  const copies = new Copies(compared)
  const omitted: (Omission | null)[] = []
  for (const [number, path] of named.entries()) {
    signal.throwIfAborted()
    omitted.push((await copies.add(number, path, one.get(path), other.get(path))) ?? null)
  }
  const hunks = await gitDiff(compared)
  const files = named.map((path, number): ChangedFile => {
    const [was, is] = [one.get(path), other.get(path)]
    const why = omitted[number] ?? null
    return {
      path: shownPath(bytesOf(path)),
      change: !was ? "added" : !is ? "removed" : "changed",
      sizeBefore: was?.size ?? null,
      sizeAfter: is?.size ?? null,
      omitted: why,
      diff: why === null ? (hunks.get(number) ?? "") : null,
    }
  })
  return { files, total: changed.length }
}

/** All files and links below a folder, by their path in it. */
async function filesOf(root: string, signal: AbortSignal): Promise<Tree> {
  const found = new Map<string, FoundFile>()
  const folders = [""]
  for (let folder = folders.pop(); folder !== undefined; folder = folders.pop()) {
    signal.throwIfAborted()
    for (const entry of await readdir(fileAt(root, folder), { withFileTypes: true, encoding: "buffer" })) {
      const name = entry.name.toString("latin1")
      const path = folder === "" ? name : `${folder}/${name}`
      if (entry.isDirectory()) folders.push(path)
      else {
        const { size, mode } = await lstat(fileAt(root, path))
        found.set(path, { size, isLink: entry.isSymbolicLink(), isExecutable: (mode & 0o100) !== 0 })
      }
    }
  }
  return found
}

async function isSame(
  { before, after, signal }: Compared,
  path: string,
  one: FoundFile | undefined,
  other: FoundFile | undefined,
): Promise<boolean> {
  if (!one || !other || one.isLink !== other.isLink || one.size !== other.size) return false
  const [was, is] = [fileAt(before, path), fileAt(after, path)]
  if (one.isLink) return (await readlink(was, "buffer")).equals(await readlink(is, "buffer"))
  return one.isExecutable === other.isExecutable && (await hashOf(was, signal)) === (await hashOf(is, signal))
}

async function hashOf(file: Buffer, signal: AbortSignal): Promise<string> {
  const hash = createHash("sha256")
  for await (const chunk of createReadStream(file, { signal })) hash.update(chunk as Buffer)
  return hash.digest("hex")
}

/** The files to show, as `work/before/<number>` and `work/after/<number>`. */
class Copies {
  readonly #compared: Compared
  #count = 0
  #bytes = 0

  constructor(compared: Compared) {
    this.#compared = compared
  }

  /** @returns  why it is not copied */
  async add(number: number, path: string, was?: FoundFile, is?: FoundFile): Promise<Omission | undefined> {
    const { before, after, work, hide } = this.#compared
    if (was?.isLink || is?.isLink) return "link"
    if (isSecretFile(shownPath(bytesOf(path)))) return "secret"
    const [sizeBefore, sizeAfter] = [was?.size ?? 0, is?.size ?? 0]
    if (Math.max(sizeBefore, sizeAfter) > codeChangeLimits.fileBytes) return "too_large"
    const contents = [was && (await readFile(fileAt(before, path))), is && (await readFile(fileAt(after, path)))]
    const why = contents.map((content) => content && unshowable(content)).find((it) => it !== undefined)
    if (why) return why
    const bytes = this.#bytes + sizeBefore + sizeAfter
    if (this.#count >= codeChangeLimits.diffs || bytes > codeChangeLimits.diffedBytes) return "limit"
    this.#count++
    this.#bytes = bytes
    for (const [index, content] of contents.entries()) {
      const side = index === 0 ? "before" : "after"
      if (content) await writeFile(join(work, side, String(number)), hide(content.toString("utf8")), { flag: "wx" })
    }
    return undefined
  }
}

// Of git, for files of 2 MB together.
const diffMemoryMb = 512
const diffMs = 20_000
// A diff says the lines of both sides at most, and a character more for each line.
const mostOutputBytes = 3 * codeChangeLimits.diffedBytes

async function gitDiff({ work, signal, path }: Compared): Promise<ReadonlyMap<number, string>> {
  const output: Buffer[] = []
  const argv = [
    "git",
    "diff",
    "--no-index",
    "--no-ext-diff",
    "--no-textconv",
    "--no-renames",
    "--no-color",
    "--no-prefix",
    "--text",
    "before",
    "after",
  ] as const
  const env = {
    PATH: path,
    HOME: work,
    LC_ALL: "C",
    GIT_CONFIG_NOSYSTEM: "1",
    GIT_CONFIG_GLOBAL: "/dev/null",
    // It is in no repository, and looks for none above it.
    GIT_CEILING_DIRECTORIES: join(work, ".."),
  }
  let bytes = 0
  const onOutput = (chunk: Buffer) => {
    bytes += chunk.length
    if (bytes <= mostOutputBytes) output.push(chunk)
  }
  try {
    const limited = withMemoryLimit(argv, { memoryMb: diffMemoryMb, path })
    await runCommand({ argv: limited, cwd: work, env, timeoutMs: diffMs, signal, onOutput })
  } catch (error) {
    signal.throwIfAborted()
    // It exits with 1 when the two differ.
    if (!(error instanceof CommandFailed) || error.exitCode !== 1) throw error
  }
  return hunksOf(Buffer.concat(output).toString("utf8"))
}

/** Makes the folders of `work` for the copies. */
export const prepareWork = async (work: string): Promise<void> => {
  await mkdir(join(work, "before"), { recursive: true })
  await mkdir(join(work, "after"), { recursive: true })
}
