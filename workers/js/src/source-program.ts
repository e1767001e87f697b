/** A graph's source as TypeScript's compiler sees it. */
import { dirname } from "node:path"
import ts from "typescript-api"

export interface SourceProgram {
  readonly source: ts.SourceFile
  readonly checker: ts.TypeChecker
}

/** @throws  an error when the compiler does not take the file */
export function openProgram(file: string): SourceProgram {
  const program = ts.createProgram({ rootNames: [file], options: { ...projectOptions(file), ...ours } })
  const source = program.getSourceFile(file)
  if (source === undefined) throw new Error(`${file} is no source that TypeScript can read`)
  return { source, checker: program.getTypeChecker() }
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

function projectOptions(file: string): ts.CompilerOptions {
  const config = ts.findConfigFile(dirname(file), ts.sys.fileExists)
  if (config === undefined) return usual
  const { config: json } = ts.readConfigFile(config, ts.sys.readFile)
  const { options } = ts.parseJsonConfigFileContent(json ?? {}, ts.sys, dirname(config), undefined, config)
  return options.module === undefined && options.moduleResolution === undefined ? { ...usual, ...options } : options
}
