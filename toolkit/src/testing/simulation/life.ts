/** The life of one program of a simulation: killed, it gets and does nothing more; suspended, it goes on later with what came meanwhile. */
import { type Clock, pauseFor } from "../../time/clock.js"

/** The life of one program, from its start until it is killed. */
export interface Life {
  isOver: boolean
  /** Until when nothing of it happens, by the clock of the simulation. */
  suspendedUntil?: number
}

/**
 * The clock of a program. Its timers end with it, and those that are due while it is suspended are late.
 * @param rate  how much of its time passes while one of the simulation's does
 */
export const clockOf = (clock: Clock, life: Life, rate = 1): Clock => ({
  now: () => clock.now() * rate,
  after: (ms, work) => {
    const fire = () => {
      if (life.isOver) return
      const leftMs = (life.suspendedUntil ?? 0) - clock.now()
      if (leftMs > 0) cancel = clock.after(leftMs, fire)
      else work()
    }
    let cancel = clock.after(ms / rate, fire)
    return () => cancel()
  },
})

/** Resolves when a program can go on: never, if it was killed. */
export async function untilAwake(clock: Clock, life: Life): Promise<void> {
  while (!life.isOver && clock.now() < (life.suspendedUntil ?? 0))
    await pauseFor(clock, (life.suspendedUntil ?? 0) - clock.now())
  if (life.isOver) await never
}

/** What a program that was killed waits for. */
export const never = new Promise<never>(() => undefined)
