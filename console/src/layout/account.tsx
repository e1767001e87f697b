/** Who is signed in, which workspace is shown, and the way out. */
import { useMutation } from "@tanstack/react-query"
import { Button } from "react-aria-components/Button"
import { Header } from "react-aria-components/Header"
import { Menu, MenuItem, MenuSection, MenuTrigger } from "react-aria-components/Menu"
import { Popover } from "react-aria-components/Popover"
import { ChevronsUpDown } from "../frame/icons.js"
import { chooseWorkspace, nameOf, type Session, signOut, workspaceOf } from "../platform/session.js"
import { useSignedOut } from "../platform/use-signed-out.js"
import { useHome } from "../requests/home.js"

export function Account({ session }: { session: Session }) {
  const { version } = useHome()
  const leaving = useMutation({ mutationFn: signOut, onSuccess: useSignedOut() })
  const current = workspaceOf(session)
  const choose = (id: string) => {
    chooseWorkspace(id)
    // Everything that was read belongs to the former workspace.
    location.assign("/")
  }
  return (
    <MenuTrigger>
      <Button className="account">
        <span className="visually-hidden">Account and workspace</span>
        <span className="account-text">
          <span>{current?.name ?? "No workspace"}</span>
          <span className="account-key">
            {nameOf(session)} {leaving.isError ? "· signing out failed" : ""}
          </span>
        </span>
        <ChevronsUpDown size={14} aria-hidden />
      </Button>
      <Popover className="popover" placement="top start">
        <Menu className="menu" aria-label="Account and workspace" selectionMode="none">
          <MenuSection>
            <Header className="menu-heading">Workspace</Header>
            {session.workspaces.map(({ workspace_id, name }) => (
              <MenuItem key={workspace_id} className="menu-item" onAction={() => choose(workspace_id)}>
                {name}
                {workspace_id === current?.workspace_id ? <span className="menu-note">shown</span> : null}
              </MenuItem>
            ))}
          </MenuSection>
          <MenuSection>
            <Header className="menu-heading">{session.person?.email ?? `superstep ${version}`}</Header>
            <MenuItem className="menu-item" onAction={() => leaving.mutate()}>
              Sign out
            </MenuItem>
          </MenuSection>
        </Menu>
      </Popover>
    </MenuTrigger>
  )
}
