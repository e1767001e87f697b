/** The fields above a list. What is typed is searched once the typing pauses. */
import { Fragment, type ReactNode, useEffect, useRef, useState } from "react"
import { Button } from "./button.js"
import { Search, X } from "./icons.js"

// Long enough for a word to be typed, short enough to feel like an answer.
const pauseMs = 250

interface FilterFieldsProps {
  readonly children: ReactNode
  /** How many were found, as a text. */
  readonly found: string
  /** Removes all filters; undefined when none is set. */
  readonly onClear: (() => void) | undefined
}

export function FilterFields({ children, found, onClear }: FilterFieldsProps) {
  // New fields forget what was typed and not searched yet.
  const [round, setRound] = useState(0)
  const clear = () => {
    setRound(round + 1)
    onClear?.()
  }
  return (
    <search className="filters">
      <Fragment key={round}>{children}</Fragment>
      {onClear && (
        <Button look="quiet" onPress={clear}>
          <X size={14} aria-hidden /> Clear
        </Button>
      )}
      <output className="filters-found note number">{found}</output>
    </search>
  )
}

interface TypedFieldProps {
  readonly label: string
  readonly value: string | undefined
  readonly placeholder?: string
  readonly icon?: boolean
  /** What is wrong with the value. */
  readonly problem?: string | undefined
  readonly onChange: (value: string | undefined) => void
}

export function TypedField(props: TypedFieldProps) {
  const { label, value = "", placeholder = label, icon = false, problem, onChange } = props
  const [typed, setTyped] = useState(value)
  const waiting = useRef<ReturnType<typeof setTimeout> | undefined>(undefined)
  // The address may change from outside: by the back button, or by "Clear".
  useEffect(() => setTyped(value), [value])
  useEffect(() => () => clearTimeout(waiting.current), [])
  const type = (text: string) => {
    setTyped(text)
    clearTimeout(waiting.current)
    waiting.current = setTimeout(() => onChange(text.trim() === "" ? undefined : text), pauseMs)
  }
  return (
    <div className={icon ? "filter-field filter-field-text" : "filter-field"}>
      {icon && <Search size={14} aria-hidden />}
      <input
        type="search"
        aria-label={label}
        placeholder={placeholder}
        value={typed}
        onChange={(event) => type(event.target.value)}
        aria-invalid={problem !== undefined}
      />
      {problem !== undefined && (
        <p className="field-problem" role="status">
          {problem}
        </p>
      )}
    </div>
  )
}

interface ChoiceProps {
  readonly label: string
  readonly any?: string
  readonly value: string | undefined
  readonly options: readonly (readonly [value: string, name: string])[]
  readonly onChange: (value: string | undefined) => void
}

export const Choice = ({ label, any = `any ${label.toLowerCase()}`, value, options, onChange }: ChoiceProps) => (
  <select
    className="filter-choice"
    aria-label={label}
    value={value ?? ""}
    onChange={(event) => onChange(event.target.value === "" ? undefined : event.target.value)}
  >
    <option value="">{any}</option>
    {options.map(([each, name]) => (
      <option key={each} value={each}>
        {name}
      </option>
    ))}
  </select>
)
