import assert from "node:assert/strict"
import test from "node:test"
import { nothingTaken, type Piece, takeFresh } from "./output-files.js"

const time = (nanoseconds: number) => `2026-11-25T09:00:00.00000000${nanoseconds}Z`
const piece = (at: number, stream: number, text: string): Piece => ({
  time: time(at),
  stream,
  content: Buffer.from(text),
})

test("every piece is taken once, wherever reading stops: in a long line, and with lines of the other stream between its parts", () => {
  const printed = [
    piece(1, 1, "first\n"),
    piece(2, 1, "long "),
    piece(2, 1, "long "),
    piece(3, 2, "error\n"),
    piece(4, 2, "longer "),
    piece(2, 1, "line\n"),
    piece(5, 1, "next\n"),
    piece(4, 2, "error\n"),
    piece(6, 1, "last\n"),
  ]

  for (let one = 0; one <= printed.length; one++)
    for (let two = one; two <= printed.length; two++) {
      let taken = nothingTaken
      const read: Piece[] = []
      for (const end of [one, two, two, printed.length]) {
        const answer = printed.slice(0, end).filter((it) => it.time >= taken.since)
        const found = takeFresh(answer, taken)
        read.push(...found.fresh)
        taken = found.taken
      }
      assert.deepEqual(read, printed, `read after ${one} and ${two} pieces`)
      assert.deepEqual(taken, { since: time(6), counts: { [time(6)]: 1 } })
    }
})

test("pieces that the engine has dropped do not hide later ones, and a line that stays open is given up", () => {
  const { taken } = takeFresh([piece(1, 1, "long "), piece(1, 1, "long ")], nothingTaken)
  const dropped = takeFresh([piece(2, 1, "next\n")], taken)
  const at = (n: number): Piece => ({ time: `t${n}`, stream: 2, content: Buffer.from("chat\n") })
  const chatty = [piece(1, 1, "open "), ...Array.from({ length: 1500 }, (_, n) => at(n + 1000))]

  const many = takeFresh(chatty, nothingTaken)

  assert.deepEqual(dropped.fresh, [piece(2, 1, "next\n")])
  assert.deepEqual(many.taken, { since: "t2499", counts: { t2499: 1 } })
})
