/**
 * Watches a unit whose process runs, on one connection: the unit sends its status, then each change, and an empty line now and then
 * (protocol/unit). A unit of an older release answers once and ends its reply; the observer asks again.
 *
 * UW1 A unit that sends nothing for `silentMs` is asked whether it is alive: it is silent, or it hangs.
 * UW2 A unit costs at most one parsed status every `restMs`, whatever it sends, and fewer of large ones.
 */
import { type Clock, pauseFor, realClock } from "@superstep/toolkit/time/clock"
import { hangs } from "./unit-client.js"
import { InvalidReply, parseStatus, type UnitReport } from "./unit-replies.js"
import {
  asReasonOf,
  mostBytes,
  openReply,
  timeoutMs,
  type UnitAddress,
  undefinedIfUnreachable,
} from "./unit-request.js"

export interface UnitState {
  /**
   * `silent`: it did not answer in time. That alone does not mean that it is broken, since an overloaded unit may be silent; `hung`
   * does (`hangs`).
   */
  readonly answer: "ready" | "not ready" | "silent" | "hung"
  readonly report: UnitReport | undefined
}

export interface UnitWatch {
  /** How long it may answer nothing, in milliseconds. */
  readonly hangMs: number
  /** Ends the watch. */
  readonly signal: AbortSignal
  readonly onState: (state: UnitState) => void
}

const restMs = 50
// A status of a few hundred bytes needs no more rest; one of the largest size gets a second.
const bytesPerMs = 4096

class Silence extends Error {}

/**
 * Resolves when the connection has ended: the unit has exited, cannot be reached, is silent, or has nothing more to say.
 * @throws InvalidReply  the unit's answer is invalid, which counts as none
 */
export async function watchUnit(address: UnitAddress, { hangMs, signal, onState }: UnitWatch): Promise<void> {
  const silentMs = Math.min(timeoutMs, hangMs / 2)
  const silence = new AbortController()
  const { clock = realClock } = address
  const beSilent = () => silence.abort(new Silence())
  let cancelTimer = clock.after(silentMs, beSilent)
  const hear = () => {
    cancelTimer()
    cancelTimer = clock.after(silentMs, beSilent)
  }
  const either = AbortSignal.any([signal, silence.signal])
  let hasAnswered = false
  try {
    const path = `/internal/status?watch=${Math.round(silentMs / 3)}`
    const response = await openReply(address, { method: "GET", path, body: "" }, either)
    if (response.statusCode !== 200) {
      response.destroy()
      return onState(notReady)
    }
    for await (const text of lastLines(response.setEncoding("utf8"), clock, hear)) {
      hasAnswered = true
      const report = parseStatus(text)
      onState({ answer: report.ready ? "ready" : "not ready", report })
    }
  } catch (error) {
    if (signal.aborted) return
    const reason = either.aborted ? either.reason : error
    if (reason instanceof Silence || (error as NodeJS.ErrnoException).code === "ENOENT") {
      const isHung = await hangs(address, hangMs / 2, signal).catch(asReasonOf(signal))
      return onState({ answer: isHung ? "hung" : "silent", report: undefined })
    }
    if (error instanceof InvalidReply) onState({ answer: "silent", report: undefined })
    undefinedIfUnreachable(error)
    // One that has answered has just exited, or is asked again at once.
    if (!hasAnswered) onState(notReady)
  } finally {
    cancelTimer()
  }
}

const notReady: UnitState = { answer: "not ready", report: undefined }

/** The last complete line of each piece that has one which is not empty, and what comes without a line end at the end. */
async function* lastLines(pieces: AsyncIterable<string>, clock: Clock, onPiece: () => void): AsyncGenerator<string> {
  // Pieces of a line that has no end yet.
  let begun: string[] = []
  let length = 0
  for await (const piece of pieces) {
    onPiece()
    begun.push(piece)
    length += piece.length
    if (length > mostBytes) throw Object.assign(new Error("a unit's status has no end"), { code: "REPLY_TOO_LARGE" })
    if (!piece.includes("\n")) continue
    const lines = begun.join("").split("\n")
    const rest = lines.pop() ?? ""
    begun = [rest]
    length = rest.length
    const last = lines.findLast((line) => line !== "")
    if (last === undefined) continue
    yield last
    await pauseFor(clock, Math.max(restMs, last.length / bytesPerMs))
  }
  const rest = begun.join("")
  if (rest !== "") yield rest
}
