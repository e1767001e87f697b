/** The form of a deployment's resources, and the change that it asks for. Pure. */
import type { ResourceSpec } from "../platform/types.js"

export const resourceFields = [
  { name: "min_scale", label: "Replicas, at least", help: "0: it sleeps while nobody uses it.", least: 0, most: 100 },
  { name: "max_scale", label: "Replicas, at most", help: "More start when runs wait.", least: 0, most: 100 },
  { name: "cpu", label: "Processors of each", help: "Such as 0.5.", least: 0.1, most: 8 },
  {
    name: "memory_mb",
    label: "Memory of each, in MB",
    help: "More than that ends the process.",
    least: 1,
    most: 16_777_216,
  },
] as const

export type ResourceName = (typeof resourceFields)[number]["name"]
export type ResourceTexts = Readonly<Record<ResourceName, string>>

/** Empty fields are the defaults. */
export const textsOf = (spec: ResourceSpec | null): ResourceTexts =>
  Object.fromEntries(resourceFields.map(({ name }) => [name, String(spec?.[name] ?? "")])) as ResourceTexts

/** @returns  a sentence for the first field that is wrong */
export function problemOf(texts: ResourceTexts): string | undefined {
  for (const { name, label, least, most } of resourceFields) {
    const text = texts[name].trim()
    const value = Number(text)
    if (text === "") continue
    if (Number.isNaN(value) || value < least || value > most) return `${label}: a number from ${least} to ${most}.`
    if (name !== "cpu" && !Number.isInteger(value)) return `${label}: a whole number.`
  }
  const [least, most] = [texts.min_scale.trim(), texts.max_scale.trim()]
  return least !== "" && most !== "" && Number(least) > Number(most)
    ? "Replicas, at most: not fewer than at least."
    : undefined
}

/** What a person typed, by field. */
export type ResourceEdits = Partial<ResourceTexts>

/** What the form shows: a field that nobody edits follows the deployment. */
export const shownTexts = (present: ResourceSpec | null, edits: ResourceEdits): ResourceTexts => ({
  ...textsOf(present),
  ...edits,
})

/** The edits that differ from these texts. */
export const editsOf = (texts: ResourceEdits, edits: ResourceEdits): ResourceEdits =>
  Object.fromEntries(Object.entries(edits).filter(([name, text]) => text !== texts[name as ResourceName]))

/** The resources with the edits. The API replaces them as a whole, so the other fields are sent as they are. */
export function specOf(present: ResourceSpec | null, edits: ResourceEdits): ResourceSpec {
  const given = Object.entries(edits).map(([name, text]) => [name, text.trim() === "" ? null : Number(text)])
  return { ...present, ...Object.fromEntries(given) }
}
