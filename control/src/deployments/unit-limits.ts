/** What a unit may use: the part of its revision's `resource_spec` that limits the API container (control-plane §1.3). Pure. */
import type { ResourceSpec } from "../revisions/source-config.js"

/**
 * What a unit may use when its revision says nothing: enough for an agent server whose worker's heap is full, and little enough that one
 * deployment cannot take a machine from the others.
 */
export const defaultLimits = { memoryMb: 2048, cpu: 2 } as const

export interface UnitLimits {
  readonly memoryMb: number
  /** Processors. */
  readonly cpu: number
}

/** A limit that is not set is twice what is requested; without either it is the default. */
export const unitLimitsOf = (spec: ResourceSpec | null | undefined): UnitLimits => ({
  memoryMb: positive(spec?.memory_limit_mb) ?? twice(positive(spec?.memory_mb)) ?? defaultLimits.memoryMb,
  cpu: positive(spec?.cpu_limit) ?? twice(positive(spec?.cpu)) ?? defaultLimits.cpu,
})

/** What it should do with: the size of JavaScript's heap follows from it. */
export const memoryMbOf = (spec: ResourceSpec | null | undefined): number =>
  positive(spec?.memory_limit_mb) ?? positive(spec?.memory_mb) ?? defaultLimits.memoryMb

const positive = (value: unknown): number | undefined => (typeof value === "number" && value > 0 ? value : undefined)
const twice = (value: number | undefined): number | undefined => value && 2 * value
