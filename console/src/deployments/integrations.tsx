/** Which credentials a deployment uses for its repository: chosen when it is created, since the API does not change them later. */
import { useQuery } from "@tanstack/react-query"
import { SelectField } from "../forms/field.js"
import { integrationsQuery } from "../platform/queries.js"
import type { Integration } from "../platform/types.js"
import { usePlatform } from "../platform/use-platform.js"

function useIntegrations(): readonly Integration[] {
  const { data } = useQuery(integrationsQuery(usePlatform()))
  return data?.resources ?? []
}

interface ChooseIntegrationProps {
  /** The id of an integration; null for a public repository. */
  readonly value: string | null
  readonly onChange: (id: string | null) => void
}

export function ChooseIntegration({ value, onChange }: ChooseIntegrationProps) {
  return (
    <SelectField
      label="Credentials for the repository"
      value={value ?? ""}
      onChange={(id) => onChange(id === "" ? null : id)}
    >
      <option value="">none: the repository is public</option>
      {useIntegrations().map(({ id: each, name, host }) => (
        <option key={each} value={each}>
          {name} ({host})
        </option>
      ))}
    </SelectField>
  )
}

/** @param id  of the integration; null for none */
export function CredentialsOf({ id }: { id: string | null }) {
  const chosen = useIntegrations().find((one) => one.id === id)
  return (
    <p className="field-help">
      {id === null
        ? "It has no integration, so its branch is polled. Another deployment of the repository can name one when it is created: then a webhook deploys each push at once."
        : `Its credentials are those of the integration ${chosen ? `${chosen.name} (${chosen.host})` : id}, which it has had since it was created.`}
    </p>
  )
}
