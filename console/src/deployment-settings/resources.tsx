/** How much a deployment may use. */
import { useState } from "react"
import { Field } from "../forms/field.js"
import { Form } from "../forms/form.js"
import { Button, onlyReads } from "../frame/button.js"
import { Problem } from "../frame/problem.js"
import { Section } from "../frame/section.js"
import type { Deployment } from "../platform/types.js"
import { usePlatform } from "../platform/use-platform.js"
import {
  editsOf,
  problemOf,
  type ResourceEdits,
  resourceFields,
  shownTexts,
  specOf,
  textsOf,
} from "./resource-fields.js"
import { useChange } from "./use-change.js"

export function Resources({ deployment }: { deployment: Deployment }) {
  const { mayWrite } = usePlatform()
  const present = deployment.source_config.resource_spec
  const [typed, setTyped] = useState<ResourceEdits>({})
  const edits = editsOf(textsOf(present), typed)
  const texts = shownTexts(present, edits)
  const { mutate, isPending, isSuccess, error } = useChange(deployment)
  const problem = problemOf(texts)
  const isSame = Object.keys(edits).length === 0
  const save = () => {
    if (problem !== undefined || isSame || !mayWrite) return
    // What was sent is no edit any more; what was typed since is.
    const onSuccess = () => setTyped((now) => editsOf(edits, now))
    mutate({ source_config: { resource_spec: specOf(present, edits) } }, { onSuccess })
  }
  return (
    <Section title="Resources" about="An empty field is the default. A change starts a new revision.">
      <Form className="card settings-form" onSend={save}>
        <div className="settings-fields">
          {resourceFields.map(({ name, label, help }) => (
            <Field
              key={name}
              label={label}
              help={help}
              placeholder="default"
              value={texts[name]}
              onChange={(text) => setTyped({ ...edits, [name]: text })}
            />
          ))}
        </div>
        {problem && <p role="alert">{problem}</p>}
        {error && <Problem error={error} />}
        <div className="settings-save">
          {isSuccess && isSame && (
            <span role="status" className="soft">
              Saved. A new revision has started.
            </span>
          )}
          <Button
            type="submit"
            isPending={isPending}
            disabledBecause={mayWrite ? (problem ?? (isSame ? "Nothing is changed." : undefined)) : onlyReads}
          >
            Save
          </Button>
        </div>
      </Form>
    </Section>
  )
}
