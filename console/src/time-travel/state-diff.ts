/** What one checkpoint changed of the state before it, as a list of places. Pure. */
import { create } from "jsondiffpatch"

export interface Change {
  /** Such as `messages[3].content`. */
  readonly path: string
  readonly kind: "added" | "removed" | "changed" | "moved"
  readonly before?: unknown
  readonly after?: unknown
}

// Messages are the same by their id, so that one in the middle of a list is a change and not many.
const differ = create({
  objectHash: (item, position) => {
    const { id } = item as { id?: unknown }
    return typeof id === "string" ? id : `#${position}`
  },
  arrays: { detectMove: true },
  omitRemovedValues: false,
})

/** @returns the changes in the order of the state; none if the states are equal */
export function changesOf(before: unknown, after: unknown): Change[] {
  return walk(differ.diff(before, after), before, after, "")
}

type Delta = ReturnType<typeof differ.diff>

function walk(delta: Delta, before: unknown, after: unknown, path: string): Change[] {
  if (delta === undefined) return []
  if (Array.isArray(delta)) return [leafOf(delta, before, after, path)]
  const node = delta as Record<string, Delta>
  return node._t === ("a" as unknown) ? walkArray(node, before, after, path) : walkObject(node, before, after, path)
}

const walkObject = (node: Record<string, Delta>, before: unknown, after: unknown, path: string): Change[] =>
  Object.entries(node).flatMap(([key, delta]) =>
    walk(delta, at(before, key), at(after, key), path === "" ? key : path + step(key)),
  )

/** Keys with `_` are places in the former list, those without in the new one. */
function walkArray(node: Record<string, Delta>, before: unknown, after: unknown, path: string): Change[] {
  const places = Object.entries(node).filter(([key]) => key !== "_t")
  const place = (key: string) => Number(key.replace("_", ""))
  return places
    .sort(([a], [b]) => place(a) - place(b))
    .flatMap(([key, delta]) => {
      const index = place(key)
      const isOld = key.startsWith("_")
      const isMove = Array.isArray(delta) && delta[2] === 3
      const old = isOld ? at(before, index) : undefined
      return walk(delta, isOld || isMove ? old : at(before, index), at(after, index), `${path}[${index}]`)
    })
}

function leafOf(delta: readonly unknown[], before: unknown, after: unknown, path: string): Change {
  if (delta.length === 1) return { path, kind: "added", after: delta[0] }
  if (delta[2] === 0) return { path, kind: "removed", before: delta[0] }
  if (delta[2] === 3) return { path, kind: "moved", before, after: delta[1] }
  return {
    path,
    kind: "changed",
    before: delta.length === 2 ? delta[0] : before,
    after: delta.length === 2 ? delta[1] : after,
  }
}

const at = (value: unknown, key: string | number): unknown =>
  typeof value === "object" && value !== null ? (value as Record<string | number, unknown>)[key] : undefined

const step = (key: string): string => (/^[\p{L}_$][\p{L}\p{N}_$]*$/u.test(key) ? `.${key}` : `[${JSON.stringify(key)}]`)
