/** Shows steps that take long, and hides short ones. */
import type { Output } from "./output.js"

// Nobody notices a shorter wait.
const patienceMs = 1000

/**
 * Runs a step. When it takes longer than a second its name is shown, and at its end the duration.
 * @param name  names the step: "starting Postgres"
 */
export async function withProgress<T>(err: Output, name: string, work: () => Promise<T>): Promise<T> {
  const startedAt = performance.now()
  let finish: ((end: string) => void) | undefined
  const announce = setTimeout(() => {
    finish = err.beginLine(err.style("dim", `  ${name} …`))
  }, patienceMs)
  try {
    return await work()
  } finally {
    clearTimeout(announce)
    finish?.(err.style("dim", ` ${seconds(performance.now() - startedAt)}`))
  }
}

export const seconds = (ms: number): string => `${(ms / 1000).toFixed(1)} s`
