import assert from "node:assert/strict"
import { test } from "node:test"
import { chooseWorkspace, workspaceOf } from "./session.js"

function storage() {
  const kept = new Map<string, string>()
  return {
    getItem: (name: string) => kept.get(name) ?? null,
    setItem: (name: string, to: string) => kept.set(name, to),
  }
}

test("a tab keeps its workspace and its rights when another tab chooses one, which new tabs begin with", () => {
  const browser = storage()
  const [first, second] = [storage(), storage()].map((tab) => ({ tab, browser }))
  const workspaces = ["x", "y"].map((id) => ({ workspace_id: id, name: id, role: null, scopes: [`of ${id}`] }))
  const scopesIn = (tab = { tab: storage(), browser }) => workspaceOf({ workspaces }, tab)?.scopes

  assert.deepEqual([scopesIn(first), scopesIn(second)], [["of x"], ["of x"]])
  chooseWorkspace("y", second)

  assert.deepEqual([scopesIn(first), scopesIn(second), scopesIn()], [["of x"], ["of y"], ["of y"]])
})
