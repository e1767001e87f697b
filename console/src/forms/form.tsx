/** A form that the page sends itself. */
import type { ComponentProps } from "react"

export const Form = ({ onSend, ...form }: Omit<ComponentProps<"form">, "onSubmit"> & { onSend: () => void }) => (
  <form
    {...form}
    onSubmit={(event) => {
      event.preventDefault()
      onSend()
    }}
  />
)
