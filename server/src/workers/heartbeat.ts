/** Tells a worker whose event loop stands still from one that only works hard (architecture §3, 5). */

export interface Heartbeat {
  /** False when a ping is unanswered although the next one is on its way: the loop is held at the moment. */
  readonly isAnswering: boolean
  pong(nonce: string): void
  stop(): void
}

// One ping may be on its way; with two the loop has been held for at least one interval.
const mostUnanswered = 1

/**
 * Sends a ping every `everyMs`, and calls `onStalled` once when none was answered for `limitMs`. It counts pings, not
 * time: when this process was the one that stood still, no ping went out and the worker is not to blame.
 */
export function startHeartbeat(options: {
  everyMs: number
  limitMs: number
  ping: (nonce: string) => void
  /** False while an answer could not be read: then nothing is asked and nothing counts. */
  isHeard: () => boolean
  /** Called when a worker answers again that was not answering. */
  onAnswering: () => void
  onStalled: () => void
}): Heartbeat {
  const { everyMs, limitMs, ping, isHeard, onAnswering, onStalled } = options
  let sent = 0
  let answered = 0
  const isAnswering = () => sent - answered <= mostUnanswered
  const timer = setInterval(() => {
    if (!isHeard()) return
    if ((sent - answered) * everyMs >= limitMs) {
      clearInterval(timer)
      return onStalled()
    }
    sent += 1
    ping(String(sent))
  }, everyMs)
  timer.unref()
  return {
    get isAnswering() {
      return isAnswering()
    },
    pong: (nonce) => {
      const wasAnswering = isAnswering()
      answered = Math.max(answered, Number(nonce))
      if (!wasAnswering && isAnswering()) onAnswering()
    },
    stop: () => clearInterval(timer),
  }
}
