/**
 * A hook for Node's module loader: `superstep:<specifier>?from=<file URL>` is resolved like an import in that file. It runs in
 * the loader's own thread.
 */
import type { ResolveHook } from "node:module"

export const scheme = "superstep:"

export const resolve: ResolveHook = (specifier, context, nextResolve) => {
  if (!specifier.startsWith(scheme)) return nextResolve(specifier, context)
  const { specifier: wanted, from } = JSON.parse(decodeURIComponent(specifier.slice(scheme.length)))
  return nextResolve(wanted, { ...context, parentURL: from })
}
