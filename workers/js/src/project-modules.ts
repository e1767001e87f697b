/** Imports of a project's files and of the packages that they see; TypeScript is compiled by tsx as it is imported. */
import { register as registerHook } from "node:module"
import { register as registerTsxForRequire } from "tsx/cjs/api"
import { register as registerTsx } from "tsx/esm/api"
import { scheme } from "./resolve-hook.js"

/** From now on TypeScript can be imported and required anywhere in this process. Called once, before the first load. */
export function enableProjectModules(): void {
  registerTsxForRequire()
  registerTsx()
  registerHook(new URL("./resolve-hook.js", import.meta.url))
  // Stacks then name the lines that the user wrote.
  process.setSourceMapsEnabled(true)
}

/**
 * Imports as a statement in the file `from` would. `require.resolve` cannot do it: it gives a package's CommonJS
 * twin, another copy with other classes.
 * @param from  URL of a file
 */
export function importFrom(specifier: string, from: string): Promise<Readonly<Record<string, unknown>>> {
  return import(scheme + encodeURIComponent(JSON.stringify({ specifier, from })))
}
