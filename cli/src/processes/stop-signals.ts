/** Turns Ctrl-C and similar signals into a promise: the first asks for an orderly stop, the second for a quick one. */

export interface StopSignals {
  /** Aborted by the first signal, with its name as the reason. */
  readonly first: AbortSignal
  /** Resolves with the first signal. */
  readonly requested: Promise<NodeJS.Signals>
  /** Calls back once, at the second signal. */
  onSecond(callback: () => void): void
  /** Has the same effect as a first signal. */
  ask(signal: NodeJS.Signals): void
  /** Restores Node's default handling of the signals. */
  release(): void
}

const names = ["SIGINT", "SIGTERM", "SIGHUP"] as const

export function listenForStop(): StopSignals {
  const controller = new AbortController()
  const second: (() => void)[] = []
  const { promise, resolve } = withResolvers<NodeJS.Signals>()
  const onSignal = (signal: NodeJS.Signals) => {
    if (controller.signal.aborted) {
      for (const callback of second.splice(0)) callback()
      return
    }
    controller.abort(signal)
    resolve(signal)
  }
  for (const name of names) process.on(name, onSignal)
  return {
    first: controller.signal,
    requested: promise,
    onSecond: (callback) => second.push(callback),
    ask: (signal) => {
      if (!controller.signal.aborted) onSignal(signal)
    },
    release: () => {
      for (const name of names) process.off(name, onSignal)
    },
  }
}

// Promise.withResolvers is in Node 22.
function withResolvers<T>(): { promise: Promise<T>; resolve: (value: T) => void } {
  let resolve: (value: T) => void = () => undefined
  const promise = new Promise<T>((done) => {
    resolve = done
  })
  return { promise, resolve }
}
