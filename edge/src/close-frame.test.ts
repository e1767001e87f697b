import assert from "node:assert/strict"
import test from "node:test"
import { FrameBoundary } from "./close-frame.js"

/** A caller's frame with a payload of so many bytes. */
function frameOf(length: number): Buffer {
  const extended = Buffer.alloc(length > 0xffff ? 8 : length > 125 ? 2 : 0)
  if (extended.length === 8) extended.writeBigUInt64BE(BigInt(length))
  else if (extended.length === 2) extended.writeUInt16BE(length)
  const short = extended.length === 8 ? 127 : extended.length === 2 ? 126 : length
  return Buffer.concat([Buffer.from([0x82, 0x80 | short]), extended, Buffer.alloc(4), Buffer.alloc(length, 0x81)])
}

test("a boundary is seen after each frame, whatever its length and wherever its bytes are split", () => {
  const frames = [0, 5, 125, 126, 70_000, 1].map(frameOf)
  const ends = new Set(frames.map((_, index) => Buffer.concat(frames.slice(0, index + 1)).length))
  const bytes = Buffer.concat(frames)

  for (const size of [1, 7, 1000]) {
    const boundary = new FrameBoundary()
    assert.equal(boundary.isBetweenFrames, true)
    for (let at = 0; at < bytes.length; at += size) {
      boundary.read(bytes.subarray(at, at + size))
      const through = Math.min(at + size, bytes.length)
      assert.equal(boundary.isBetweenFrames, ends.has(through), `after ${through} bytes in pieces of ${size}`)
    }
  }
})
