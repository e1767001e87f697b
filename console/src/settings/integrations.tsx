/** Credentials for git hosts: private repositories, and webhooks. */
import { useQueryClient, useSuspenseQuery } from "@tanstack/react-query"
import { DialogForm } from "../forms/dialog-form.js"
import { Field, useFields } from "../forms/field.js"
import { CopyText } from "../frame/copy-text.js"
import { AddDialog, Removal } from "../frame/dialog.js"
import { Empty } from "../frame/empty.js"
import { Section } from "../frame/section.js"
import { paths } from "../platform/paths.js"
import { integrationsQuery } from "../platform/queries.js"
import { usePlatform } from "../platform/use-platform.js"
import { refreshMs } from "../requests/query-client.js"
import { actionsHead, Table } from "../tables/table.js"

const needsAdmin = "This needs a key with the scope admin."

export function Integrations({ isAdmin }: { isAdmin: boolean }) {
  const platform = usePlatform()
  const queryClient = useQueryClient()
  const query = integrationsQuery(platform)
  const { data } = useSuspenseQuery({ ...query, refetchInterval: refreshMs })
  const readAgain = () => queryClient.invalidateQueries({ queryKey: query.queryKey })
  const disabledBecause = isAdmin ? undefined : needsAdmin
  return (
    <Section
      title="Git integrations"
      about="Tokens for private repositories, and the secrets of their webhooks."
      actions={
        <AddDialog title="New git integration" add="New integration" disabledBecause={disabledBecause}>
          <IntegrationForm onCreated={readAgain} />
        </AddDialog>
      }
    >
      <Table
        label="Git integrations"
        heads={["Name", "Host", "Id", actionsHead]}
        empty={<Empty title="No integrations yet">Public repositories need none.</Empty>}
      >
        {data.resources.map(({ id, name, host }) => (
          <tr key={id}>
            <td>{name}</td>
            <td>{host}</td>
            <td>
              <CopyText text={id} label="the id" />
            </td>
            <td className="right">
              <Removal
                title={`Delete ${name}?`}
                disabledBecause={disabledBecause}
                act={async () => {
                  await platform.call(`${paths.integrations}/${id}`, { method: "DELETE" })
                  await readAgain()
                }}
              >
                Deployments that use it must be deleted first.
              </Removal>
            </td>
          </tr>
        ))}
      </Table>
    </Section>
  )
}

function IntegrationForm({ onCreated }: { onCreated: () => Promise<void> }) {
  const { call } = usePlatform()
  const { given, field } = useFields({ name: "", host: "", token: "" })
  const create = async () => {
    await call(paths.integrations, { method: "POST", body: given })
    await onCreated()
  }
  return (
    <DialogForm submit="Create" act={create}>
      <Field label="Name" {...field("name")} />
      <Field label="Host" placeholder="github.com" {...field("host")} />
      <Field
        label="Token"
        type="password"
        help="With the right to read the repository. It is stored encrypted."
        {...field("token")}
      />
    </DialogForm>
  )
}
