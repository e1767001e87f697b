/** Checks the types of a project with its own compiler, as a build does (docs/builds.md). */
import { existsSync } from "node:fs"
import { readFile } from "node:fs/promises"
import { createRequire } from "node:module"
import { dirname, join } from "node:path"
import { KnownError } from "@superstep/toolkit/errors/errors"
import { CommandFailed, runCommand } from "@superstep/toolkit/exec/run-command"

export class TypesNotChecked extends KnownError {
  readonly code = "types_not_checked"
}

// Far more than a large project needs.
const limitMs = 5 * 60_000

/**
 * @param folder  of `langgraph.json`
 * @param env     the whole environment of the compiler
 * @returns       the compiler's errors, such as `src/graph.ts:3:5: error TS2322: …`; undefined when the folder has no
 *                `tsconfig.json` or the project has no TypeScript
 * @throws TypesNotChecked  the compiler took too long or was killed
 */
export async function typeErrors(
  folder: string,
  env: Readonly<Record<string, string>>,
): Promise<readonly string[] | undefined> {
  const compiler = existsSync(join(folder, "tsconfig.json")) ? await compilerOf(folder) : undefined
  if (compiler === undefined) return undefined
  const printed: Buffer[] = []
  const argv = [process.execPath, compiler, "--noEmit", "--pretty", "false"] as const
  try {
    await runCommand({
      argv: [...argv],
      cwd: folder,
      env,
      timeoutMs: limitMs,
      onOutput: (chunk) => printed.push(chunk),
    })
    return []
  } catch (error) {
    if (!(error instanceof CommandFailed)) throw error
    if (error.killedBy !== undefined)
      throw new TypesNotChecked(`the check of types ${reasonOf(error)}`, { cause: error })
    return withPlaces(Buffer.concat(printed).toString("utf8"))
  }
}

const reasonOf = ({ killedBy }: CommandFailed): string =>
  killedBy === "timeout" ? `took longer than ${limitMs / 1000} s` : `was killed (${killedBy})`

async function compilerOf(folder: string): Promise<string | undefined> {
  const manifest = find(folder, "typescript/package.json")
  if (manifest === undefined) return undefined
  const { bin } = JSON.parse(await readFile(manifest, "utf8")) as { bin: { tsc: string } }
  return join(dirname(manifest), bin.tsc)
}

function find(folder: string, name: string): string | undefined {
  try {
    return createRequire(join(folder, "package.json")).resolve(name)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "MODULE_NOT_FOUND") throw error
    return undefined
  }
}

/** Editors and terminals open `file:line:column`, and the compiler prints `file(line,column)`. Pure. */
const withPlaces = (output: string): string[] =>
  output
    .split("\n")
    .filter((line) => line.trim() !== "")
    .map((line) => line.replace(/^(\S.*)\((\d+),(\d+)\): /, "$1:$2:$3: "))
