/**
 * The parts of a running installation, stopped in the reverse order of their start. A part that arrives while the
 * others are being stopped is stopped at once, so that nothing stays behind whenever the stop comes.
 */
export interface Part {
  readonly name: string
  /** Ends it in order and returns when it is gone. */
  stop(): Promise<void>
  /** Ends it at once; what it was doing is taken up at the next start. */
  kill(): void
}

export interface Parts {
  add(part: Part): Promise<void>
  /** Stops everything. @throws the first error, after every part had its turn */
  stop(): Promise<void>
  kill(): void
}

export function createParts(): Parts {
  const running: Part[] = []
  let stopping = false
  const stopAll = async () => {
    stopping = true
    const errors: unknown[] = []
    for (let part = running.at(-1); part; part = running.at(-1)) {
      await part.stop().catch((error: unknown) => errors.push(error))
      running.splice(running.indexOf(part), 1)
    }
    if (errors.length > 0) throw errors[0]
  }
  return {
    add: async (part) => {
      if (stopping) await part.stop()
      else running.push(part)
    },
    stop: stopAll,
    kill: () => {
      for (const part of [...running].reverse()) part.kill()
    },
  }
}
