/** The code of an error, which leads to its entry in the documentation. */
import { useContext } from "react"
import { type Explained, entryAddress } from "./explained.js"
import { HomeContext } from "./home.js"

export function ErrorCode({ explained }: { explained: Explained }) {
  const address = entryAddress(explained, useContext(HomeContext))
  const code = <code>{explained.code}</code>
  if (address === undefined) return code
  return (
    <a className="error-code" href={address} target="_blank" rel="noreferrer">
      {code}
    </a>
  )
}
