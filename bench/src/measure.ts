import { BenchFailed } from "./http-client.js"
import type { Measured } from "./report.js"
import type { Sample, Scenario } from "./scenarios.js"
import type { System } from "./systems.js"

/**
 * Runs every scenario on every system. Within a scenario the systems take turns, round by round, so that a machine
 * that grows warm or busy does so for all of them. Requests follow one another: what is measured is a time, not a load.
 * @param say  is told what is under way
 * @throws BenchFailed  as soon as one answer is wrong: its time would mean nothing
 */
export async function measure(
  scenarios: readonly Scenario[],
  systems: readonly System[],
  rounds: number,
  say: (line: string) => void,
): Promise<Measured[]> {
  const measured: Measured[] = []
  for (const scenario of scenarios) {
    for (const system of systems) await repeat(scenario.warmUps, () => runOn(scenario, system))
    const results = systems.map(() => [] as Sample[][])
    for (let round = 1; round <= rounds; round++) {
      say(`${scenario.name}: round ${round} of ${rounds}`)
      for (const [index, system] of systems.entries()) {
        results[index]?.push(await repeat(scenario.requests, () => runOn(scenario, system)))
      }
    }
    measured.push(...systems.map(({ name }, index) => ({ scenario, system: name, rounds: results[index] ?? [] })))
  }
  return measured
}

async function runOn(scenario: Scenario, { name, target }: System): Promise<Sample> {
  try {
    return await scenario.run(target)
  } catch (cause) {
    throw new BenchFailed(`${name}, ${scenario.name}: ${cause instanceof Error ? cause.message : cause}`, { cause })
  }
}

async function repeat<T>(times: number, work: () => Promise<T>): Promise<T[]> {
  const results: T[] = []
  for (let count = 0; count < times; count++) results.push(await work())
  return results
}
