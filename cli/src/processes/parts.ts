/**
 * The parts of a running installation, stopped in the reverse order of their start. A part that is added while the
 * others are being stopped is stopped at once, so that nothing stays behind whenever the stop comes.
 */
export interface Part {
  readonly name: string
  /** Stops it in order and returns when it is gone. */
  stop(): Promise<void>
  /** Stops what no other program can adopt, and leaves the rest running. Default: `stop`. */
  leave?(): Promise<void>
  /** Kills it at once; the next start continues its work. */
  kill(): void
}

export interface Parts {
  add(part: Part): Promise<void>
  /** Stops everything. @throws the first error, after every part had its turn */
  stop(): Promise<void>
  /** The same, but leaves running what the next start can adopt. */
  leave(): Promise<void>
  kill(): void
}

export function createParts(): Parts {
  const running: Part[] = []
  let ending: ((part: Part) => Promise<void>) | undefined
  const endAll = async (end: (part: Part) => Promise<void>) => {
    ending = end
    const errors: unknown[] = []
    for (let part = running.at(-1); part; part = running.at(-1)) {
      await end(part).catch((error: unknown) => errors.push(error))
      running.splice(running.indexOf(part), 1)
    }
    if (errors.length > 0) throw errors[0]
  }
  return {
    add: async (part) => {
      if (ending) await ending(part)
      else running.push(part)
    },
    stop: () => endAll((part) => part.stop()),
    leave: () => endAll((part) => (part.leave ?? part.stop)()),
    kill: () => {
      for (const part of [...running].reverse()) part.kill()
    },
  }
}
