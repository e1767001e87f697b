/** A graph's source as TypeScript's compiler sees it. */
import { dirname } from "node:path"
import ts from "typescript-api"

export interface SourceProgram {
  readonly source: ts.SourceFile
  readonly checker: ts.TypeChecker
}

/** @throws  an error when the compiler does not take the file */
export function openProgram(file: string): SourceProgram {
  const opened = openPrograms([file])(file)
  if (opened === undefined) throw new Error(`${file} is no source that TypeScript can read`)
  return opened
}

/**
 * Opens several files at once: what they import, which takes most of the time, is read once for all that have the same
 * `tsconfig.json`.
 * @returns  what tells a file's program; undefined when the compiler does not take it
 */
export function openPrograms(files: readonly string[]): (file: string) => SourceProgram | undefined {
  const byConfig = new Map<string | undefined, { files: string[]; program?: ts.Program }>()
  const configOf = (file: string) => ts.findConfigFile(dirname(file), ts.sys.fileExists)
  for (const file of files) {
    const config = configOf(file)
    byConfig.set(config, { files: [...(byConfig.get(config)?.files ?? []), file] })
  }
  return (file) => {
    const config = configOf(file)
    const group = byConfig.get(config) ?? { files: [file] }
    group.program ??= ts.createProgram({ rootNames: group.files, options: { ...projectOptions(config), ...ours } })
    const source = group.program.getSourceFile(file)
    return source && { source, checker: group.program.getTypeChecker() }
  }
}

/** What makes types tell the most, and nothing written; errors in the user's types only make them tell less. */
const ours: ts.CompilerOptions = {
  noEmit: true,
  composite: false,
  incremental: false,
  strict: true,
  skipLibCheck: true,
  allowJs: true,
  checkJs: false,
  allowImportingTsExtensions: true,
  // Types that are not imported are of test runners and the like, and take a second to read.
  types: [],
}

/** What finds the packages of most projects, where one says nothing of its own. */
const usual: ts.CompilerOptions = {
  target: ts.ScriptTarget.ES2022,
  module: ts.ModuleKind.ESNext,
  moduleResolution: ts.ModuleResolutionKind.Bundler,
}

function projectOptions(config: string | undefined): ts.CompilerOptions {
  if (config === undefined) return usual
  const { config: json } = ts.readConfigFile(config, ts.sys.readFile)
  const { options } = ts.parseJsonConfigFileContent(json ?? {}, ts.sys, dirname(config), undefined, config)
  return options.module === undefined && options.moduleResolution === undefined ? { ...usual, ...options } : options
}
