/** A choice of one person that this browser keeps, such as the colours. Every page that shows it learns of a change. */
import { useSyncExternalStore } from "react"

export interface KeptChoice<Value extends string> {
  /** The first value while nothing, or something unknown, is kept. */
  read(): Value
  keep(value: Value): void
  onChange(listener: () => void): () => void
}

/** @param values  all that it can be; the first one is the default */
export function keptChoice<Value extends string>(
  name: string,
  values: readonly [Value, ...Value[]],
): KeptChoice<Value> {
  const listeners = new Set<() => void>()
  return {
    read: () => values.find((value) => value === localStorage.getItem(name)) ?? values[0],
    keep: (value) => {
      localStorage.setItem(name, value)
      for (const listener of listeners) listener()
    },
    onChange: (listener) => {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
  }
}

export const useKept = <Value extends string>(choice: KeptChoice<Value>): Value =>
  useSyncExternalStore(choice.onChange, choice.read)
