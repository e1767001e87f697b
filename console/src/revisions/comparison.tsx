/** Two revisions side by side: only what differs. */

import { CodeDifference } from "../code-changes/code-difference.js"
import { shortId } from "../deployments/status.js"
import { Button } from "../frame/button.js"
import { X } from "../frame/icons.js"
import type { Revision } from "../platform/types.js"
import { Table } from "../tables/table.js"
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
      <Table
        label="Comparison"
        heads={[
          <span key="what" className="visually-hidden">
            What
          </span>,
          <>
            Before <code>{shortId(before.id)}</code>
          </>,
          <>
            After <code>{shortId(after.id)}</code>
          </>,
        ]}
        className="comparison"
        empty={
          <p className="comparison-same">Nothing: both have the same code, configuration, resources and secrets.</p>
        }
      >
        {found.map(({ what, before: one, after: other }) => (
          <tr key={what}>
            <th scope="row">{what}</th>
            <td className="comparison-before">{one}</td>
            <td className="comparison-after">{other}</td>
          </tr>
        ))}
      </Table>
      <CodeDifference before={before} after={after} />
    </section>
  )
}
