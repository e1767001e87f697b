/**
 * Which deployments a pass of the planner reads and plans. L8 A deployment is planned when something about it has changed, every second
 * while something may be due (due.ts), and every ten seconds in any case: so a change that nobody has announced is found too.
 */
import { safetyMs } from "./due.js"

export class Schedule {
  readonly #changed = new Set<string>()
  readonly #soon = new Set<string>()
  #allAt = Number.NEGATIVE_INFINITY

  /** All deployments may have changed. */
  allChanged(): void {
    this.#allAt = Number.NEGATIVE_INFINITY
  }

  changed(deploymentId: string): void {
    this.#changed.add(deploymentId)
  }

  /**
   * Call it before the deployments are read: a change that comes meanwhile is for the next pass.
   * @returns  undefined for all deployments
   */
  take(nowMs: number): readonly string[] | undefined {
    const ids = new Set([...this.#changed, ...this.#soon])
    this.#changed.clear()
    if (nowMs - this.#allAt < safetyMs) return [...ids]
    this.#allAt = nowMs
    this.#soon.clear()
    return undefined
  }

  planned(deploymentId: string, { isDueSoon }: { readonly isDueSoon: boolean }): void {
    if (isDueSoon) this.#soon.add(deploymentId)
    else this.#soon.delete(deploymentId)
  }

  /** It has no units any more. */
  gone(deploymentId: string): void {
    this.#soon.delete(deploymentId)
  }

  /** Whether the next pass should come within a second. */
  get isSoon(): boolean {
    return this.#soon.size > 0 || this.#changed.size > 0
  }
}
