/** Replays a conversation of `protocol/worker/fixtures` with a real worker (see the README there for the format). */
import assert from "node:assert/strict"
import { readFileSync } from "node:fs"
import { isDeepStrictEqual } from "node:util"
import type { FakeServer, Received } from "./fake-server.js"

interface Frame {
  readonly header: Readonly<Record<string, unknown>> & { readonly type: string; readonly payload?: readonly string[] }
  readonly payload: readonly string[]
}

export type Line =
  | (Frame & { readonly from: "server" | "worker" })
  | { readonly from: "worker"; readonly any_order: readonly Frame[] }

/** The number of the worker's frames in a conversation. */
export function workerFrames(lines: readonly Line[]): number {
  return lines.reduce(
    (sum, line) => sum + ("any_order" in line ? line.any_order.length : line.from === "worker" ? 1 : 0),
    0,
  )
}

/** Values of placeholders by their text, such as `<call 1>`. */
type Bindings = Map<string, unknown>

export function readFixture(path: string): Line[] {
  return readFileSync(path, "utf8")
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line))
}

/**
 * Sends the server's lines and expects the worker's, in order.
 * @param known  initial values of placeholders such as `<project>`
 */
export async function replay(
  server: FakeServer,
  lines: readonly Line[],
  known: Readonly<Record<string, unknown>>,
): Promise<void> {
  const bindings: Bindings = new Map(Object.entries(known))
  let seen = 0
  for (const line of lines) {
    if (line.from === "server") {
      send(server, line, bindings)
      continue
    }
    const open = "any_order" in line ? [...line.any_order] : [line]
    while (open.length > 0) {
      const position = seen
      const received = await server.frame((frame) => server.received.indexOf(frame) === position)
      seen += 1
      const found = open.findIndex((frame) => isExpected(received, frame, bindings))
      assert.ok(found >= 0, `expected ${JSON.stringify(open)}\nreceived ${JSON.stringify(received)}`)
      open.splice(found, 1)
    }
  }
}

function send(server: FakeServer, { header, payload }: Frame, bindings: Bindings): void {
  const filled = Object.assign({ type: header.type }, fill(header, bindings))
  server.send(
    filled,
    payload.map((text) => fillText(text, bindings)),
  )
}

/** Placeholders bound by a frame that does not match are discarded. */
function isExpected(received: Received, frame: Frame, bindings: Bindings): boolean {
  const trial: Bindings = new Map(bindings)
  const isSame =
    fits(frame.header, received.header, trial) &&
    received.lines.length === frame.payload.length &&
    frame.payload.every((text, index) => fitsText(text, received.lines[index] ?? "", trial))
  if (isSame) for (const [name, value] of trial) bindings.set(name, value)
  return isSame
}

function fitsText(expected: string, actual: string, bindings: Bindings): boolean {
  if (isPlaceholder(expected)) return bind(expected, actual, bindings)
  if (expected === "" || actual === "") return expected === actual
  return fits(JSON.parse(expected), JSON.parse(actual), bindings)
}

/** Objects may have more fields than expected, lists may not have more items. */
function fits(expected: unknown, actual: unknown, bindings: Bindings): boolean {
  if (isPlaceholder(expected)) return bind(expected, actual, bindings)
  if (Array.isArray(expected)) {
    const isList = Array.isArray(actual) && actual.length === expected.length
    return isList && expected.every((each, index) => fits(each, actual[index], bindings))
  }
  if (typeof expected !== "object" || expected === null) return expected === actual
  if (typeof actual !== "object" || actual === null) return false
  return Object.entries(expected).every(([key, value]) => {
    const name = isPlaceholder(key) ? String(bindings.get(key)) : key
    return fits(value, Reflect.get(actual, name), bindings)
  })
}

function bind(placeholder: string, actual: unknown, bindings: Bindings): boolean {
  if (actual === undefined) return false
  if (placeholder === "<>") return true
  if (bindings.has(placeholder)) return isDeepStrictEqual(bindings.get(placeholder), actual)
  bindings.set(placeholder, actual)
  return true
}

function fill(value: unknown, bindings: Bindings): unknown {
  if (isPlaceholder(value)) return bindings.get(value)
  if (Array.isArray(value)) return value.map((each) => fill(each, bindings))
  if (typeof value !== "object" || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, fill(each, bindings)]))
}

function fillText(text: string, bindings: Bindings): string {
  return isPlaceholder(text) ? String(bindings.get(text)) : text
}

function isPlaceholder(value: unknown): value is string {
  return typeof value === "string" && /^<[^>]*>$/.test(value)
}
