/** The fields of forms, each with its label: a text with a line of help, and a choice. */
import { type ReactNode, useId, useState } from "react"
import { FieldError } from "react-aria-components/FieldError"
import { Input } from "react-aria-components/Input"
import { Label } from "react-aria-components/Label"
import { Text } from "react-aria-components/Text"
import { TextArea } from "react-aria-components/TextArea"
import { TextField } from "react-aria-components/TextField"

export interface FieldProps {
  readonly label: string
  readonly value: string
  readonly onChange: (value: string) => void
  readonly help?: string
  readonly placeholder?: string
  readonly type?: "text" | "password" | "number"
  readonly isRequired?: boolean
  /** Of several lines. */
  readonly isLong?: boolean
}

export function Field({
  label,
  value,
  onChange,
  help,
  placeholder = "",
  type = "text",
  isRequired = false,
  isLong = false,
}: FieldProps) {
  const input = { placeholder, autoComplete: "off", spellCheck: "false" } as const
  return (
    <TextField value={value} onChange={onChange} type={type} isRequired={isRequired}>
      <Label>{label}</Label>
      {isLong ? (
        <TextArea {...input} rows={4} className={type === "password" ? "concealed" : ""} />
      ) : (
        <Input {...input} />
      )}
      {help && (
        <Text slot="description" className="field-help">
          {help}
        </Text>
      )}
      <FieldError className="field-error" />
    </TextField>
  )
}

/** The state of several texts that a form requires, and what makes a `Field` one of them. */
export function useFields<Name extends string>(initial: Readonly<Record<Name, string>>) {
  const [given, setGiven] = useState(initial)
  const field = (name: Name) => ({
    value: given[name],
    onChange: (value: string) => setGiven({ ...given, [name]: value }),
    isRequired: true,
  })
  return { given, field }
}

interface SelectFieldProps {
  readonly label: string
  readonly value: string | number
  readonly onChange: (value: string) => void
  /** The options. */
  readonly children: ReactNode
}

export function SelectField({ label, value, onChange, children }: SelectFieldProps) {
  const id = useId()
  return (
    <div>
      <label htmlFor={id}>{label}</label>
      <select id={id} value={value} onChange={({ target }) => onChange(target.value)}>
        {children}
      </select>
    </div>
  )
}
