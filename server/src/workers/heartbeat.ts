/** Distinguishes a worker whose event loop is blocked from one that is only busy (architecture §3, 5). */

export interface Heartbeat {
  /** False when a ping was still unanswered when the next one was sent: the event loop is blocked at the moment. */
  readonly isAnswering: boolean
  pong(nonce: string): void
  stop(): void
}

// One unanswered ping may still be on its way; with two, the loop has been blocked for at least one interval.
const maxUnanswered = 1

/**
 * Sends a ping every `everyMs`, and calls `onStalled` once when none was answered for `limitMs`. It counts pings instead of
 * time: while this process itself is blocked, it sends no pings, and the worker is not blamed.
 */
export function startHeartbeat(options: {
  everyMs: number
  limitMs: number
  ping: (nonce: string) => void
  /** False while an answer could not be read: then no pings are sent or counted. */
  isHeard: () => boolean
  /** Called when a worker answers again after it did not. */
  onAnswering: () => void
  /** Called when a worker leaves pings unanswered, after each further ping. */
  onSilent: () => void
  onStalled: () => void
}): Heartbeat {
  const { everyMs, limitMs, ping, isHeard, onAnswering, onSilent, onStalled } = options
  let sent = 0
  let answered = 0
  const isAnswering = () => sent - answered <= maxUnanswered
  const timer = setInterval(() => {
    if (!isHeard()) return
    if ((sent - answered) * everyMs >= limitMs) {
      clearInterval(timer)
      return onStalled()
    }
    sent += 1
    ping(String(sent))
    if (!isAnswering()) onSilent()
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
