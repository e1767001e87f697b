/** What a unit may use: the part of its revision's `resource_spec` that limits the API container (control-plane §1.3). Pure. */
import type { ResourceSpec } from "../deployments/deployment.js"
import type { UnitSpec } from "../runtimes/port.js"

/** A limit that is not said is twice what is asked for; without either there is none. */
export const unitLimitsOf = (spec: ResourceSpec | null | undefined): UnitSpec["limits"] => ({
  memoryMb: positive(spec?.memory_limit_mb) ?? twice(positive(spec?.memory_mb)),
  cpu: positive(spec?.cpu_limit) ?? twice(positive(spec?.cpu)),
})

/** What it should do with: the size of JavaScript's heap follows from it. */
export const memoryMbOf = (spec: ResourceSpec | null | undefined): number | undefined =>
  positive(spec?.memory_limit_mb) ?? positive(spec?.memory_mb)

const positive = (value: unknown): number | undefined => (typeof value === "number" && value > 0 ? value : undefined)
const twice = (value: number | undefined): number | undefined => value && 2 * value
