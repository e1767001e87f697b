/** The values that differ between two versions. */
import type { AssistantVersion } from "@langchain/langgraph-sdk"
import { BareTable } from "../tables/table.js"
import { versionChanges } from "./version-changes.js"

export function VersionTable({ before, after }: { before: AssistantVersion; after: AssistantVersion }) {
  const changes = versionChanges(before, after)
  if (changes.length === 0) {
    return (
      <p className="soft" role="status">
        Version {before.version} and version {after.version} are the same.
      </p>
    )
  }
  return (
    <div className="table-box">
      <BareTable
        heads={["Value", `Version ${before.version}`, `Version ${after.version}`]}
        className="assistant-changes"
      >
        {changes.map((change) => (
          <tr key={change.path}>
            <th scope="row" className="mono">
              {change.path}
            </th>
            <td className="assistant-before">{shownValue(change.before)}</td>
            <td className="assistant-after">{shownValue(change.after)}</td>
          </tr>
        ))}
      </BareTable>
    </div>
  )
}

const shownValue = (value: unknown) =>
  value === undefined ? (
    <span className="faint">none</span>
  ) : (
    <code>{typeof value === "string" ? value : JSON.stringify(value)}</code>
  )
