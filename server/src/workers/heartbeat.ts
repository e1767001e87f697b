/** Tells a worker whose event loop stands still from one that only works hard (architecture §3, 5). */

export interface Heartbeat {
  pong(nonce: string): void
  stop(): void
}

/**
 * Sends a ping every `everyMs`, and calls `onStalled` once when none was answered for `limitMs`. It counts pings, not
 * time: when this process was the one that stood still, no ping went out and the worker is not to blame.
 */
export function startHeartbeat(options: {
  everyMs: number
  limitMs: number
  ping: (nonce: string) => void
  onStalled: () => void
}): Heartbeat {
  const { everyMs, limitMs, ping, onStalled } = options
  let sent = 0
  let answered = 0
  const timer = setInterval(() => {
    if ((sent - answered) * everyMs >= limitMs) {
      clearInterval(timer)
      return onStalled()
    }
    sent += 1
    ping(String(sent))
  }, everyMs)
  timer.unref()
  return {
    pong: (nonce) => {
      answered = Math.max(answered, Number(nonce))
    },
    stop: () => clearInterval(timer),
  }
}
