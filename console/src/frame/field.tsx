/** A text field with its label and a line of help. */
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
  return (
    <TextField value={value} onChange={onChange} type={type} isRequired={isRequired}>
      <Label>{label}</Label>
      {isLong ? <TextArea rows={4} /> : <Input placeholder={placeholder} autoComplete="off" spellCheck="false" />}
      {help && (
        <Text slot="description" className="field-help">
          {help}
        </Text>
      )}
      <FieldError className="field-error" />
    </TextField>
  )
}
