import { BenchFailed } from "../http-client.js"
import type { SystemName } from "../options.js"
import type { Cleanup } from "../processes.js"
import type { Sample, Scenario } from "../scenarios/scenario.js"
import type { System } from "../systems/system.js"

/** All samples of a system in a scenario, by round. Empty if the system failed in any round. */
export interface Measured {
  readonly scenario: Scenario
  readonly system: SystemName
  readonly rounds: readonly (readonly Sample[])[]
  /** The error of a system that failed. */
  readonly failure: string | undefined
}

export interface Measuring {
  readonly repeats: number
  readonly cleanup: Cleanup
  /** Reports progress. */
  say(line: string): void
}

/**
 * Runs a scenario on every system. The systems take turns, one round each, so that changes of the machine's speed affect all of
 * them. A system that gives one wrong result is excluded, because its times are meaningless.
 */
export async function measure(
  scenario: Scenario,
  systems: readonly System[],
  { repeats, cleanup, say }: Measuring,
): Promise<Measured[]> {
  const results = systems.map((system) => ({
    system,
    rounds: [] as Sample[][],
    failure: undefined as string | undefined,
  }))
  const rounds = Math.min(repeats, scenario.maxRounds ?? repeats)
  for (let round = 0; round <= rounds; round++) {
    say(`${scenario.name}: ${round === 0 ? "warming up" : `round ${round} of ${rounds}`}`)
    for (const result of results.filter(({ failure }) => failure === undefined)) {
      try {
        const samples = await repeat(round === 0 ? scenario.warmUps : scenario.requests, () =>
          scenario.run(result.system, cleanup),
        )
        if (round > 0) result.rounds.push(samples)
      } catch (error) {
        if (!(error instanceof BenchFailed)) throw error
        result.failure = error.message
        say(`${result.system.name}, ${scenario.name}: ${error.message}`)
      }
    }
  }
  return results.map(({ system, rounds, failure }) => ({
    scenario,
    system: system.name,
    rounds: failure === undefined ? rounds : [],
    failure,
  }))
}

async function repeat<T>(times: number, work: () => Promise<T>): Promise<T[]> {
  const results: T[] = []
  for (let count = 0; count < times; count++) results.push(await work())
  return results
}
