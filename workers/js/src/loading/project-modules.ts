/** Imports a project's files and the packages that they see; tsx compiles TypeScript on import. */
import { register as registerHook } from "node:module"
import { register as registerTsxForRequire } from "tsx/cjs/api"
import { register as registerTsx } from "tsx/esm/api"
import { scheme } from "./resolve-hook.js"

/** Makes TypeScript importable everywhere in this process. Call it once, before the first load. */
export function enableProjectModules(): void {
  registerTsxForRequire()
  registerTsx()
  registerHook(new URL("./resolve-hook.js", import.meta.url))
  // Makes stacks contain the lines of the user's sources.
  process.setSourceMapsEnabled(true)
}

/**
 * Imports like a statement in the file `from`. `require.resolve` cannot do this: it gives a package's CommonJS build, which has
 * other classes.
 * @param from  URL of a file
 */
export function importFrom(specifier: string, from: string): Promise<Readonly<Record<string, unknown>>> {
  return import(scheme + encodeURIComponent(JSON.stringify({ specifier, from })))
}
