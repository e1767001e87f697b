/** Above the title of a deployment's pages: where they belong. */
import { Link } from "@tanstack/react-router"

export const DeploymentPath = ({ id, name }: { id: string; name: string }) => (
  <>
    <Link to="/">Deployments</Link> / <Link to={`/deployments/${id}`}>{name}</Link>
  </>
)
