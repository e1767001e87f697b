/**
 * Checks each entry of an archive before anything of it is written. An accepted entry can only become a plain file or a
 * folder below the tree, with a name that no other entry has on any file system. Pure.
 */
import { SourceFailed } from "./port.js"
import { isEnvFile } from "./secret-files.js"

export interface EntryHeader {
  readonly path: string
  /** In the terms of the `tar` package: `File`, `Directory`, `SymbolicLink` … */
  readonly type: string
  readonly mode?: number | undefined
}

export type Verdict =
  | { readonly kind: "file"; readonly path: string; readonly isExecutable: boolean }
  | { readonly kind: "folder"; readonly path: string }
  /** A file of secrets: the CLIs pack it unless it is ignored, and send its content as secrets too. */
  | { readonly kind: "left out"; readonly path: string }

const setIdBits = 0o6000
const executableBit = 0o100

/** @throws SourceFailed  `archive_invalid` */
export function checkEntry({ path: given, type, mode = 0 }: EntryHeader): Verdict {
  const problem = pathProblem(given)
  if (problem) throw invalidEntry(given, problem)
  const path = given
    .split("/")
    .filter((part) => part !== "" && part !== ".")
    .join("/")
  if (type === "Directory") return { kind: "folder", path }
  if (type !== "File" && type !== "OldFile") throw invalidEntry(given, `is a ${words[type] ?? type}`)
  if (path === "") throw invalidEntry(given, "has no name")
  if ((mode & setIdBits) !== 0) throw invalidEntry(given, "would run as another user (setuid or setgid)")
  if (isEnvFile(path)) return { kind: "left out", path }
  return { kind: "file", path, isExecutable: (mode & executableBit) !== 0 }
}

const words: Readonly<Record<string, string>> = {
  SymbolicLink: "symbolic link",
  Link: "hard link",
  CharacterDevice: "device",
  BlockDevice: "device",
  FIFO: "pipe",
}

// Linux allows no longer name or path; a part is measured in bytes.
const maxPathBytes = 4000
const maxPartBytes = 255

function pathProblem(path: string): string | undefined {
  // Bytes that are not UTF-8 were decoded to this character.
  if (path.includes("\ufffd")) return "has a name that is not UTF-8"
  // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what this refuses
  if (/[\u0000-\u001f\u007f]/.test(path)) return "has control characters in its name"
  if (path.startsWith("/") || /^[a-z]:/i.test(path)) return "has an absolute path"
  if (path.includes("\\")) return "has a backslash in its name"
  const parts = path.split("/")
  if (parts.includes("..")) return "leads out of the archive"
  const isTooLong =
    Buffer.byteLength(path) > maxPathBytes || parts.some((part) => Buffer.byteLength(part) > maxPartBytes)
  return isTooLong ? "has a name that is too long" : undefined
}

export const invalidEntry = (path: string, problem: string): SourceFailed =>
  new SourceFailed("archive_invalid", `the archive cannot be used: ${JSON.stringify(path.slice(0, 200))} ${problem}`)

/** The names in use, by files and by the folders above them. */
export class TakenNames {
  readonly #kinds = new Map<string, { readonly path: string; readonly kind: "file" | "folder" }>()

  /** How many files and folders there are. */
  get size(): number {
    return this.#kinds.size
  }

  /**
   * @returns  true when the name is new; false when the same folder or file exists already
   * @throws SourceFailed  two names would be equal where case or Unicode normalization is ignored, or a file is also a folder
   */
  take(path: string, kind: "file" | "folder"): boolean {
    const parts = path.split("/")
    for (let count = 1; count < parts.length; count++) this.#takeOne(parts.slice(0, count).join("/"), "folder")
    return path === "" ? false : this.#takeOne(path, kind)
  }

  #takeOne(path: string, kind: "file" | "folder"): boolean {
    const folded = fold(path)
    const other = this.#kinds.get(folded)
    if (!other) {
      this.#kinds.set(folded, { path, kind })
      return true
    }
    if (other.path !== path)
      throw invalidEntry(path, `has the same name as ${JSON.stringify(other.path)} on some file systems`)
    if (other.kind !== kind) throw invalidEntry(path, "is both a file and a folder")
    return false
  }
}

/** One form for all spellings that some file system treats as equal: both encodings of `é`, `ß` and `SS`, `a` and `A`. */
const fold = (path: string): string => path.normalize("NFC").toUpperCase().toLowerCase().normalize("NFC")
