/** Where an error happened in the user's source, shown as a few lines around the place. */
import { readFileSync } from "node:fs"
import { sep } from "node:path"
import { fileURLToPath } from "node:url"

interface Place {
  readonly file: string
  readonly line: number
  /** Counted from 1; undefined when only the line is known. */
  readonly column: number | undefined
}

/** What an error says, as far as it can be read. */
interface Told {
  readonly message: string
  readonly stack: string | undefined
}

/**
 * @param project  folder of the user's code; its node_modules are not the user's
 * @returns        `src/graph.ts:3:7` and the lines around it, or undefined when the place is not known
 */
export function codeFrame(error: Told, project: string): string | undefined {
  const place = missingImport(error) ?? compileError(error, project) ?? firstOwnLine(error, project)
  return place === undefined ? undefined : drawn(place, project)
}

/** `Cannot find package 'x' imported from /project/graph.ts`: the line that imports it. */
function missingImport({ message }: Told): Place | undefined {
  const found = /Cannot find (?:package|module) '([^']+)' imported from '?([^'\n]+?)'?$/m.exec(message)
  const [, wanted = "", importer = ""] = found ?? []
  if (found === null) return undefined
  const file = asPath(importer)
  // A relative import is reported as the path that it led to.
  const name = wanted.split(/[/\\]/).at(-1) ?? wanted
  const source = linesOf(file)
  const isImport = (line: string) => /\b(import|from|require)\b/.test(line)
  const exact = source.findIndex((line) => isImport(line) && line.includes(wanted))
  const index = exact >= 0 ? exact : source.findIndex((line) => isImport(line) && line.includes(stem(name)))
  if (index < 0) return undefined
  const column = (source[index] ?? "").search(/["']/)
  return { file, line: index + 1, column: column < 0 ? undefined : column + 1 }
}

/** esbuild's `/project/graph.ts:3:7: ERROR: Expected …`; its columns count from 0. */
function compileError({ message }: Told, project: string): Place | undefined {
  const found = /^(.+?):(\d+):(\d+): ERROR: /m.exec(message)
  if (found === null) return undefined
  const [, file = "", line, column] = found
  return isOwn(file, project) ? { file, line: Number(line), column: Number(column) + 1 } : undefined
}

/** The first line of the stack that is the user's. A module that fails to link has its place on the first line. */
function firstOwnLine({ stack = "" }: Told, project: string): Place | undefined {
  for (const line of stack.split("\n")) {
    const found = /((?:file:\/\/)?\/[^\s():]+|[A-Za-z]:\\[^\s():]+):(\d+)(?::(\d+))?/.exec(line)
    const [, location = "", row, column] = found ?? []
    const file = asPath(location)
    if (found === null || !isOwn(file, project)) continue
    return { file, line: Number(row), column: column === undefined ? undefined : Number(column) }
  }
  return undefined
}

function drawn({ file, line, column }: Place, project: string): string | undefined {
  const source = linesOf(file)
  if (source[line - 1] === undefined) return undefined
  const first = Math.max(1, line - 2)
  const last = Math.min(source.length, line + 2)
  const width = String(last).length
  const rows: string[] = []
  for (let number = first; number <= last; number++) {
    const mark = number === line ? ">" : " "
    rows.push(`${mark} ${String(number).padStart(width)} | ${source[number - 1] ?? ""}`.trimEnd())
    if (number === line && column !== undefined) rows.push(`  ${" ".repeat(width)} | ${" ".repeat(column - 1)}^`)
  }
  const shown = file.startsWith(project + sep) ? file.slice(project.length + 1) : file
  return [[shown, line, column].filter((part) => part !== undefined).join(":"), ...rows].join("\n")
}

function isOwn(file: string, project: string): boolean {
  return file.startsWith(project + sep) && !file.includes(`${sep}node_modules${sep}`)
}

function linesOf(file: string): string[] {
  try {
    return readFileSync(file, "utf8").split(/\r?\n/)
  } catch {
    // Not a file (a built-in, an eval): there is nothing to show.
    return []
  }
}

function asPath(location: string): string {
  const bare = location.split("?")[0] ?? location
  return bare.startsWith("file://") ? fileURLToPath(bare) : bare
}

function stem(name: string): string {
  return name.replace(/\.[^.]+$/, "")
}
