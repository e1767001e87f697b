/** Imports a project's files and the packages that they see; tsx compiles TypeScript on import. */
import { type ResolveHook, register as registerHook } from "node:module"
import { register as registerTsxForRequire } from "tsx/cjs/api"
import { register as registerTsx } from "tsx/esm/api"

const scheme = "superstep:"

/** Makes TypeScript importable everywhere in this process. Call it once, before the first load. */
export function enableProjectModules(): void {
  registerTsxForRequire()
  registerTsx()
  const hook = `const scheme = "${scheme}"; export const resolve = ${resolve}`
  registerHook(`data:text/javascript,${encodeURIComponent(hook)}`)
  // Makes stacks contain the lines of the user's sources.
  process.setSourceMapsEnabled(true)
}

/**
 * A hook for Node's module loader: `superstep:<specifier and file>` is resolved like an import in that file. Its text runs in the loader's
 * own thread, so it refers only to `scheme`.
 */
const resolve: ResolveHook = (specifier, context, nextResolve) => {
  if (!specifier.startsWith(scheme)) return nextResolve(specifier, context)
  const { specifier: wanted, from } = JSON.parse(decodeURIComponent(specifier.slice(scheme.length)))
  return nextResolve(wanted, { ...context, parentURL: from })
}

/**
 * Imports like a statement in the file `from`. `require.resolve` cannot do this: it gives a package's CommonJS build, which has
 * other classes.
 * @param from  URL of a file
 */
export function importFrom(specifier: string, from: string): Promise<Readonly<Record<string, unknown>>> {
  return import(scheme + encodeURIComponent(JSON.stringify({ specifier, from })))
}
