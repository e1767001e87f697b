import assert from "node:assert/strict"
import test from "node:test"
import type { Piece } from "../output-files.js"
import { piecesOf, sinceOf } from "./unit-output.js"

const time = (nanoseconds: number) => `2026-11-25T09:00:00.00000000${nanoseconds}Z`
const piece = (at: number, stream: number, text: string): Piece => ({
  time: time(at),
  stream,
  content: Buffer.from(text),
})

test("an engine's output is read piece by piece, and its times keep their nanoseconds", () => {
  const sent = (stream: number, text: string) => {
    const header = Buffer.alloc(8)
    header.writeUInt8(stream)
    header.writeUInt32BE(Buffer.byteLength(text), 4)
    return Buffer.concat([header, Buffer.from(text)])
  }

  const pieces = piecesOf(Buffer.concat([sent(1, `${time(1)} a b\n`), sent(2, `${time(1)} half`)]))

  assert.deepEqual(pieces, [piece(1, 1, "a b\n"), piece(1, 2, "half")])
  assert.equal(sinceOf(time(1)), `${Date.parse("2026-11-25T09:00:00Z") / 1000}.000000001`)
})
