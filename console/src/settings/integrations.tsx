/** Credentials for git hosts: private repositories, and webhooks. */
import { useMutation, useQueryClient, useSuspenseQuery } from "@tanstack/react-query"
import { useState } from "react"
import { Form } from "react-aria-components/Form"
import { Button } from "../frame/button.js"
import { CopyText } from "../frame/copy-text.js"
import { Confirm, Dialog } from "../frame/dialog.js"
import { Empty } from "../frame/empty.js"
import { Field } from "../frame/field.js"
import { Plus } from "../frame/icons.js"
import { Problem } from "../frame/problem.js"
import { refreshMs } from "../frame/query-client.js"
import { Section } from "../frame/section.js"
import { actionsHead, Table } from "../frame/table.js"
import type { PageOf } from "../platform/types.js"
import { usePlatform } from "../platform/use-platform.js"

interface Integration {
  readonly id: string
  readonly name: string
  readonly host: string
}

const path = "/v2/integrations/git"
const needsAdmin = "This needs a key with the scope admin."

export function Integrations({ isAdmin }: { isAdmin: boolean }) {
  const { call, workspaceId } = usePlatform()
  const queryClient = useQueryClient()
  const queryKey = ["integrations", workspaceId]
  const { data } = useSuspenseQuery({
    queryKey,
    queryFn: ({ signal }) => call<PageOf<Integration>>(path, { signal }),
    refetchInterval: refreshMs,
  })
  const readAgain = () => queryClient.invalidateQueries({ queryKey })
  const disabledBecause = isAdmin ? undefined : needsAdmin
  return (
    <Section
      title="Git integrations"
      about="Tokens for private repositories, and the secrets of their webhooks."
      actions={
        <Dialog
          title="New git integration"
          button={{
            disabledBecause,
            children: (
              <>
                <Plus size={14} aria-hidden /> New integration
              </>
            ),
          }}
        >
          {(close) => <IntegrationForm close={close} onCreated={readAgain} />}
        </Dialog>
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
              <Confirm
                title={`Delete ${name}?`}
                button={{ children: "Delete", look: "quiet", disabledBecause }}
                confirm="Delete"
                isDangerous
                act={async () => {
                  await call(`${path}/${id}`, { method: "DELETE" })
                  await readAgain()
                }}
              >
                Deployments that use it must be deleted first.
              </Confirm>
            </td>
          </tr>
        ))}
      </Table>
    </Section>
  )
}

function IntegrationForm({ close, onCreated }: { close: () => void; onCreated: () => Promise<void> }) {
  const { call } = usePlatform()
  const [given, setGiven] = useState({ name: "", host: "", token: "" })
  const { mutate, isPending, error } = useMutation({
    mutationFn: () => call(path, { method: "POST", body: given }),
    onSuccess: async () => {
      await onCreated()
      close()
    },
  })
  const field = (name: keyof typeof given) => ({
    value: given[name],
    onChange: (value: string) => setGiven({ ...given, [name]: value }),
    isRequired: true,
  })
  return (
    <Form
      onSubmit={(event) => {
        event.preventDefault()
        mutate()
      }}
    >
      <Field label="Name" {...field("name")} />
      <Field label="Host" placeholder="github.com" {...field("host")} />
      <Field
        label="Token"
        type="password"
        help="With the right to read the repository. It is stored encrypted."
        {...field("token")}
      />
      {error && <Problem error={error} />}
      <div className="dialog-actions">
        <Button onPress={close}>Cancel</Button>
        <Button type="submit" look="primary" isPending={isPending}>
          Create
        </Button>
      </div>
    </Form>
  )
}
