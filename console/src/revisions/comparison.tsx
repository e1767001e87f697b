/** Two revisions side by side: only what differs. */

import { CodeDifference } from "../code-changes/code-difference.js"
import { shortId } from "../deployments/status.js"
import { Button } from "../frame/button.js"
import { X } from "../frame/icons.js"
import { TableBox } from "../frame/table-box.js"
import type { Revision } from "../platform/types.js"
import { differences } from "./compare.js"

export interface ComparisonProps {
  readonly revisions: readonly Revision[]
  /** Ids of all revisions, newest first: the older one is on the left. */
  readonly order: readonly string[]
  readonly close: () => void
}

export function Comparison({ revisions, order, close }: ComparisonProps) {
  const [before, after] = revisions.toSorted((one, other) => order.indexOf(other.id) - order.indexOf(one.id))
  if (!before || !after) return null
  const found = differences(before, after)
  return (
    <section className="section" aria-labelledby="comparison-heading">
      <div className="section-head">
        <h2 id="comparison-heading">What changed</h2>
        <Button look="quiet" onPress={close} label="Close the comparison">
          <X size={14} aria-hidden />
        </Button>
      </div>
      <TableBox label="Comparison">
        {found.length === 0 ? (
          <p className="comparison-same">Nothing: both have the same code, configuration, resources and secrets.</p>
        ) : (
          <table className="table comparison">
            <thead>
              <tr>
                <th scope="col">
                  <span className="visually-hidden">What</span>
                </th>
                <th scope="col">
                  Before <code>{shortId(before.id)}</code>
                </th>
                <th scope="col">
                  After <code>{shortId(after.id)}</code>
                </th>
              </tr>
            </thead>
            <tbody>
              {found.map(({ what, before: one, after: other }) => (
                <tr key={what}>
                  <th scope="row">{what}</th>
                  <td className="comparison-before">{one}</td>
                  <td className="comparison-after">{other}</td>
                </tr>
              ))}
            </tbody>
          </table>
        )}
      </TableBox>
      <CodeDifference before={before} after={after} />
    </section>
  )
}
