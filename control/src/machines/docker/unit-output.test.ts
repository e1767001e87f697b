import assert from "node:assert/strict"
import test from "node:test"
import type { Piece } from "../engine-output.js"
import { piecesOf, sinceOf } from "./unit-output.js"

const time = (nanoseconds: number) => `2026-11-25T09:00:00.00000000${nanoseconds}Z`
const piece = (at: number, stream: number, text: string): Piece => ({
  time: time(at),
  stream,
  content: Buffer.from(text),
})

test("an engine's output is read piece by piece, and asked for in seconds", () => {
  const sent = (stream: number, text: string) => {
    const header = Buffer.alloc(8)
    header.writeUInt8(stream)
    header.writeUInt32BE(Buffer.byteLength(text), 4)
    return Buffer.concat([header, Buffer.from(text)])
  }

  const pieces = piecesOf(Buffer.concat([sent(1, `${time(1)} a b\n`), sent(2, `${time(1)} half`)]))

  assert.deepEqual(pieces, [piece(1, 1, "a b\n"), piece(1, 2, "half")])
  assert.deepEqual(sinceOf({ sinceMs: 1_700_000_000_007 }), { since: "1700000000.007" })
  assert.deepEqual(sinceOf({}), {})
})
