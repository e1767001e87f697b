/** A table with its column heads; in its box also with a label, and with what it shows while it has no rows. */
import { Children, type ReactNode } from "react"
import { TableBox } from "./table-box.js"

export interface BareTableProps {
  /** One for each column. */
  readonly heads: readonly ReactNode[]
  readonly className?: string
  /** The rows. */
  readonly children: ReactNode
}

export interface TableProps extends BareTableProps {
  readonly label: string
  /** Shown in place of a table without rows. */
  readonly empty?: ReactNode
}

/** The head of the column with what can be done with each row. */
export const actionsHead = <span className="visually-hidden">Actions</span>

export const Table = ({ label, empty, ...table }: TableProps) => (
  <TableBox label={label}>
    {empty !== undefined && Children.toArray(table.children).length === 0 ? empty : <BareTable {...table} />}
  </TableBox>
)

export const BareTable = ({ heads, className = "", children }: BareTableProps) => (
  <table className={`table ${className}`}>
    <thead>
      <tr>
        {heads.map((head, n) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: the columns of a table never change places
          <th key={n} scope="col">
            {head}
          </th>
        ))}
      </tr>
    </thead>
    <tbody>{children}</tbody>
  </table>
)
