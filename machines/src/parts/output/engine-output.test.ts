import assert from "node:assert/strict"
import test from "node:test"
import { maxRawBytes } from "@superstep/toolkit/text/clean-lines"
import { isBefore, lifeIdOf, type Piece, placeIn, placeOf, readPieces } from "./engine-output.js"

const timeOf = (ms: number) => new Date(Date.UTC(2026, 10, 25, 9) + ms).toISOString().replace("Z", "000000Z")
const piece = (ms: number, stream: number, text: string): Piece => ({
  time: timeOf(ms),
  stream,
  content: Buffer.from(text),
})
const lifeId = lifeIdOf("1", "a")

/** Reads on in what the engine has at that moment. */
const read = (pieces: readonly Piece[], from: string, hasEnded = false) => {
  const place = placeIn(lifeId, from)
  const answer = pieces.filter(({ time }) => Date.parse(time) >= (place.sinceMs ?? 0))
  return readPieces({ from, place, hasEnded }, answer)
}

test("every line is read once, wherever reading stops: in a long line, and with the other stream between and late", () => {
  const printed = [
    piece(1, 1, "first\n"),
    piece(2, 1, "long "),
    piece(2, 1, "long "),
    piece(2, 1, "line\n"),
    piece(3, 2, "error\n"),
    piece(3, 2, "error\n"),
    piece(2, 1, "late\n"),
    piece(5000, 1, "next\n"),
    piece(4999, 2, "late error\n"),
    piece(9000, 1, "open "),
    piece(9500, 1, "\n"),
    piece(9600, 1, "last"),
  ]
  const lines = ["first", "long long line", "error", "error", "late", "next", "late error", "open ", "last"]

  for (let one = 0; one <= printed.length; one++)
    for (let two = one; two <= printed.length; two++) {
      const found: string[] = []
      let from = ""
      for (const end of [one, two, two, printed.length, printed.length]) {
        const { lines, next } = read(printed.slice(0, end), from, end === printed.length)
        assert.equal(next === from, lines.length === 0)
        found.push(...lines)
        from = next
      }
      assert.deepEqual(found, lines, `read after ${one} and ${two} pieces`)
    }
})

test("lines that the engine has dropped do not hide later ones, and an answer that broke off repeats none", () => {
  const printed = [piece(1, 1, "one\n"), piece(2, 1, "two\n"), piece(3, 1, "three\n"), piece(4, 1, "four\n")]
  const { next: from } = read(printed.slice(0, 3), "")

  assert.deepEqual(read(printed.slice(3), from).lines, ["four"])
  assert.deepEqual(read(printed.slice(0, 2), from), { lines: [], next: from })
})

test("a line that is too long is cut, and its rest is skipped", () => {
  const part = "x".repeat(maxRawBytes / 2)
  const printed = [1, 2, 3, 4].map(() => piece(1, 1, part))
  const ended = [...printed, piece(1, 1, "end\n"), piece(2, 1, "next\n")]

  const first = read(printed.slice(0, 3), "")
  const rest = read(ended, first.next)

  assert.deepEqual(first.lines, [part + part])
  assert.deepEqual(rest.lines, ["next"])
})

test("a chatty stream beside an open line of the other one does not make reads longer for ever", () => {
  const chatty = Array.from({ length: 3000 }, (_, n) => piece(n + 10, 2, "chat\n"))
  const { next } = read([piece(1, 1, "open "), ...chatty], "")

  assert.equal(placeOf(next)?.sinceMs, Date.parse(timeOf(3009)) - 1000)
})

test("a place of another life, or of a former release, is the start; lives are in the order of their starts", () => {
  const { next } = read([piece(1, 1, "one\n")], "")

  assert.deepEqual(placeIn(lifeIdOf("2", "b"), next), { lifeId: "2_b" })
  assert.deepEqual(placeIn(lifeId, "1234"), { lifeId })
  assert.equal(isBefore("1_z", "2_a"), true)
  assert.equal(isBefore("1_a", "1_b"), false)
})
