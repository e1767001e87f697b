/** A graph's source as TypeScript's compiler sees it. */
import { dirname } from "node:path"
import type { SourceSystem } from "./source-inputs.js"

// `require` here and elsewhere: for `import`, Node searches the nine megabytes for names of exports, which takes 0.7 s.
import ts = require("typescript-api")

export interface SourceProgram {
  readonly source: ts.SourceFile
  readonly checker: ts.TypeChecker
}

/** @throws  an error when the compiler does not accept the file */
export function openProgram(file: string): SourceProgram {
  const opened = openPrograms([file])(file)
  if (opened === undefined) throw new Error(`${file} is not a source file that TypeScript can read`)
  return opened
}

/**
 * Opens several files at once: their imports, which take most of the time, are read once for all files with the same
 * `tsconfig.json`.
 * @param system  the functions of the system that the compiler calls
 * @returns  a function that returns a file's program; undefined when the compiler does not accept the file
 */
export function openPrograms(
  files: readonly string[],
  system: SourceSystem = ts.sys,
): (file: string) => SourceProgram | undefined {
  const byConfig = new Map<string | undefined, { files: string[]; program?: ts.Program }>()
  const configOf = (file: string) => ts.findConfigFile(dirname(file), system.fileExists)
  for (const file of files) {
    const config = configOf(file)
    byConfig.set(config, { files: [...(byConfig.get(config)?.files ?? []), file] })
  }
  return (file) => {
    const config = configOf(file)
    const group = byConfig.get(config) ?? { files: [file] }
    group.program ??= programOf(group.files, { ...projectOptions(config, system), ...ours }, system)
    const source = group.program.getSourceFile(file)
    return source && { source, checker: group.program.getTypeChecker() }
  }
}

function programOf(rootNames: readonly string[], options: ts.CompilerOptions, system: SourceSystem): ts.Program {
  const { fileExists, readFile, directoryExists } = system
  const host = Object.assign(ts.createCompilerHost(options), { fileExists, readFile, directoryExists })
  return ts.createProgram({ rootNames, options, host })
}

/** Options for the most detailed types, without output; errors in the user's types only make them less detailed. */
const ours: ts.CompilerOptions = {
  noEmit: true,
  composite: false,
  incremental: false,
  strict: true,
  skipLibCheck: true,
  allowJs: true,
  checkJs: false,
  allowImportingTsExtensions: true,
  // Global types that are not imported belong to test runners and the like, and take a second to read.
  types: [],
}

/** Options that find the packages of most projects, for projects without their own. */
const usual: ts.CompilerOptions = {
  target: ts.ScriptTarget.ES2022,
  module: ts.ModuleKind.ESNext,
  moduleResolution: ts.ModuleResolutionKind.Bundler,
}

function projectOptions(config: string | undefined, system: SourceSystem): ts.CompilerOptions {
  if (config === undefined) return usual
  const { config: json } = ts.readConfigFile(config, system.readFile)
  // Only the options are needed, so the project's files, which may be many, are not listed.
  const host = { ...ts.sys, ...system, readDirectory: () => [] }
  const { options } = ts.parseJsonConfigFileContent(json ?? {}, host, dirname(config), undefined, config)
  return options.module === undefined && options.moduleResolution === undefined ? { ...usual, ...options } : options
}
