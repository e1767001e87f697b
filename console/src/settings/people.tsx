/** The people of the workspace with their roles, and the invitations that wait. */
import { useMutation, useQuery, useQueryClient, useSuspenseQuery } from "@tanstack/react-query"
import { useState } from "react"
import { Field, SelectField } from "../forms/field.js"
import { AddDialog, Removal } from "../frame/dialog.js"
import { Empty } from "../frame/empty.js"
import { Problem } from "../frame/problem.js"
import { Section } from "../frame/section.js"
import { Ago } from "../frame/time.js"
import { paths } from "../platform/paths.js"
import { membersQuery, readList } from "../platform/queries.js"
import type { Member } from "../platform/types.js"
import { usePlatform } from "../platform/use-platform.js"
import { refreshMs } from "../requests/query-client.js"
import { requestPath } from "../requests/request-path.js"
import { actionsHead, Table } from "../tables/table.js"
import { roles } from "./roles.js"
import { ShownOnce } from "./shown-once.js"

interface Invitation {
  readonly id: string
  readonly email: string
  readonly role: string
  readonly expires_at: string
}

const needsAdmin = "This needs the role admin, or a key with the scope admin."

export function People({ isAdmin }: { isAdmin: boolean }) {
  const platform = usePlatform()
  const queryClient = useQueryClient()
  const { data } = useSuspenseQuery({ ...membersQuery(platform), refetchInterval: refreshMs })
  const invitations = useQuery({
    queryKey: ["invitations", platform.workspaceId],
    queryFn: ({ signal }) => readList<Invitation>(platform, paths.invitations, ({ id }) => id, signal),
    refetchInterval: refreshMs,
    enabled: isAdmin,
  })
  const readAgain = async () => {
    await queryClient.invalidateQueries({ queryKey: ["members"] })
    await queryClient.invalidateQueries({ queryKey: ["invitations"] })
    await queryClient.invalidateQueries({ queryKey: ["sessions"] })
  }
  const waiting = invitations.data?.resources ?? []
  return (
    <Section
      title="People"
      about="Their names are in revisions, answers to agents and the audit log. A changed role counts at once."
      actions={
        <AddDialog title="Invite a person" add="Invite" disabledBecause={isAdmin ? undefined : needsAdmin}>
          <InviteForm onCreated={readAgain} />
        </AddDialog>
      }
    >
      {!isAdmin && <p className="soft">Roles are changed by an admin, or with a key with the scope admin.</p>}
      {invitations.error && <Problem error={invitations.error} />}
      <Table
        label="People"
        heads={["Person", "Role", "Signed in", actionsHead]}
        empty={<Empty title="Nobody has an account here yet">Invite yourself first, with the role admin.</Empty>}
      >
        {data.resources.map((member) => (
          <MemberRow key={member.person_id} member={member} isAdmin={isAdmin} onChanged={readAgain} />
        ))}
        {waiting.map((invitation) => (
          <InvitationRow key={invitation.id} invitation={invitation} onChanged={readAgain} />
        ))}
      </Table>
    </Section>
  )
}

interface MemberRowProps {
  readonly member: Member
  readonly isAdmin: boolean
  readonly onChanged: () => Promise<void>
}

function MemberRow({ member, isAdmin, onChanged }: MemberRowProps) {
  const { call, session } = usePlatform()
  const path = requestPath`/v2/members/${member.person_id}`
  const changing = useMutation({
    mutationFn: (role: string) => call(path, { method: "PATCH", body: { role } }),
    onSettled: onChanged,
  })
  const isOwn = session.person?.person_id === member.person_id
  return (
    <tr>
      <td>
        {member.name} {isOwn && <span className="faint">(you)</span>}
        <div className="soft">{member.email}</div>
        {changing.error && <Problem error={changing.error} />}
      </td>
      <td>
        <select
          className="settings-role"
          aria-label={`Role of ${member.name}`}
          value={member.role}
          disabled={!isAdmin || changing.isPending}
          onChange={({ target }) => changing.mutate(target.value)}
        >
          {roles.map(({ name }) => (
            <option key={name}>{name}</option>
          ))}
        </select>
        {member.by_group && <div className="faint">by group, until it is changed here</div>}
      </td>
      <td>
        <Ago at={member.signed_in_at} />
      </td>
      <td className="right">
        <Removal
          title={`Remove ${member.name}?`}
          word="Remove"
          disabledBecause={isAdmin ? undefined : needsAdmin}
          act={async () => {
            await call(path, { method: "DELETE" })
            await onChanged()
          }}
        >
          What {member.name} has open here, also at agents, ends now. What they did stays in the audit log.
        </Removal>
      </td>
    </tr>
  )
}

function InvitationRow({ invitation, onChanged }: { invitation: Invitation; onChanged: () => Promise<void> }) {
  const { call } = usePlatform()
  return (
    <tr>
      <td>
        {invitation.email} <span className="faint">invited</span>
      </td>
      <td>{invitation.role}</td>
      <td className="soft">
        ends <Ago at={invitation.expires_at} />
      </td>
      <td className="right">
        <Removal
          title={`Withdraw the invitation of ${invitation.email}?`}
          word="Withdraw"
          act={async () => {
            await call(requestPath`/v2/invitations/${invitation.id}`, { method: "DELETE" })
            await onChanged()
          }}
        >
          Its link no longer works.
        </Removal>
      </td>
    </tr>
  )
}

function InviteForm({ onCreated }: { onCreated: () => Promise<void> }) {
  const { call } = usePlatform()
  const [email, setEmail] = useState("")
  const [role, setRole] = useState("approve")
  const make = async () => {
    const body = { email: email.trim(), role }
    return (await call<{ url: string }>(paths.invitations, { method: "POST", body })).url
  }
  return (
    <ShownOnce
      submit="Invite"
      make={make}
      onMade={onCreated}
      label="the link"
      advice={`Send this link to ${email.trim()}. It works once, for seven days, and is not shown again.`}
    >
      <Field label="E-mail address" value={email} onChange={setEmail} isRequired />
      <SelectField label="Role" value={role} onChange={setRole}>
        {roles.map(({ name, about }) => (
          <option key={name} value={name}>
            {name}: {about}
          </option>
        ))}
      </SelectField>
    </ShownOnce>
  )
}
