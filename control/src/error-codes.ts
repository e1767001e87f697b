/** The error codes of the control plane's replies and of its programs, as `docs/errors.md` explains them. Long on purpose: one table. */

import type { EdgeCodes } from "@superstep/edge/error-codes"
import type { MachineCodes } from "@superstep/machines/port/error-codes"
import type { ImageCodes } from "@superstep/oci/error-codes"
import type { ErrorEntry } from "@superstep/toolkit/errors/error-entry"
import type { RevisionCodes } from "./revisions/error-codes.js"

export const controlCodes = {
  operator_required: {
    http: [403],
    what: "Only the operator of the installation may do this.",
    cause: "The key belongs to a workspace.",
    next: "Use a key of the installation: `org_api_key` in `credentials.json`, or one of `superstep keys create --org`.",
  },
  workspace_required: {
    http: [403],
    what: "A key of the installation needs to know for which workspace it acts.",
    cause: "The header `X-Tenant-Id` is missing.",
    next: "Send the workspace's id in `X-Tenant-Id` (`superstep workspaces list`).",
  },
  code_invalid: {
    http: [401],
    what: "The sign-in code of the console is wrong, used or expired.",
    cause: "A code works once, for ten minutes.",
    next: "Print a new address with `superstep console`.",
  },
  key_required: {
    http: [403],
    what: "Only an API key may do this.",
    cause: "A person asked for a sign-in code. Such a session would outlast the person's own.",
    next: "Sign in as yourself, or use an API key with the scope `admin`.",
  },
  invitation_invalid: {
    http: [401],
    what: "The invitation is used, withdrawn, replaced or expired.",
    cause: "Its link works once, for seven days, and a new invitation of the same address replaces it.",
    next: "Sign in if you have accepted it; else ask an admin of the workspace for a new one.",
  },
  invitation_of_another: {
    http: [403],
    what: "The invitation is for another e-mail address.",
    cause: "The OIDC provider says another address than the one that was invited.",
    next: "Sign in at the provider with the account that was invited, or ask for an invitation of this address.",
  },
  email_unverified: {
    http: [403],
    what: "The OIDC provider has not verified the e-mail address.",
    cause: "Its claim `email_verified` is false, so the invitation may be somebody else's.",
    next: "Verify the address at the provider, then open the link again.",
  },
  not_a_member: {
    http: [403],
    what: "The account belongs to no workspace.",
    cause: "The person was not invited, or an admin has removed them.",
    next: "Ask an admin of the workspace for an invitation.",
  },
  sign_in_failed: {
    http: [401],
    what: "The sign-in by the OIDC provider failed.",
    cause: "The provider refused it, it took longer than ten minutes, or another browser began it.",
    next: "Sign in again; the log of the control plane has the reason.",
  },
  no_provider: {
    http: [409],
    what: "No OIDC provider is set.",
    cause: "The installation signs people in by the links of their invitations.",
    next: "Open the link of an invitation, or set `SUPERSTEP_OIDC_ISSUER`.",
  },
  provider_required: {
    http: [409],
    what: "An OIDC provider is set, so the link of an invitation alone signs nobody in.",
    cause: "The request accepts an invitation without the provider.",
    next: "Open the link in a browser and sign in there.",
  },
  last_admin: {
    http: [409],
    what: "The person is the last admin among the members of the workspace.",
    cause: "Without one, nobody could change roles except by a key.",
    next: "Give another member the role admin first.",
  },
  foreign_host: {
    http: [403],
    what: "The console was opened under a host name that is not the platform's.",
    cause: "A reverse proxy or a tunnel gives the platform another name.",
    next: "Set `SUPERSTEP_PUBLIC_URL` to the address that people use, and start again.",
  },
  cross_site: {
    http: [403],
    what: "A request with the console's session came from another page.",
    cause: "A script of another site, or a tool that sends the browser's cookie.",
    next: "Send an API key instead of the session.",
  },
  code_not_comparable: {
    http: [409],
    what: "The code of two revisions cannot be compared.",
    cause: "One of them is an image, was never fetched, is too large, or its archive or commit is no longer there.",
    next: "Compare revisions whose code is there: archives are kept for the three newest revisions of a deployment.",
  },
  name_taken: {
    http: [409],
    what: "Something of this name exists in the workspace; `conflicting_id` names it.",
    cause: "A second creation in place of a change.",
    next: "Choose another name, or change the existing one.",
  },
  route_taken: {
    http: [409],
    what: "The address of this name belongs to a deployment of another workspace.",
    cause: "Addresses of agents are unique in the installation.",
    next: "Choose another name.",
  },
  agent_taken: {
    http: [409],
    what: "The agent has a deployment for this environment already; `conflicting_id` names it.",
    cause: "A second creation in place of a change.",
    next: "Change the existing deployment.",
  },
  host_name_taken: {
    http: [409],
    what: "The host name belongs to another deployment.",
    cause: "It was added there first.",
    next: "Remove it there, then add it here.",
  },
  listener_exists: {
    http: [409],
    what: "There is a listener for this data plane; `conflicting_id` names it.",
    cause: "A second creation in place of a change.",
    next: "Change the existing listener.",
  },
  reserved_name: {
    http: [400],
    what: "A secret has the name of a variable that the platform sets itself.",
    cause: "A `.env` file with names such as `DATABASE_URI` or `PORT` was sent as secrets.",
    next: "Leave out what `detail` names.",
  },
  immutable: {
    http: [400],
    what: "This field of a deployment cannot be changed after its creation.",
    cause: "A PATCH with another repository or another source.",
    next: "Create another deployment.",
  },
  mirrored: {
    http: [400],
    what: "The deployment is managed by another control plane, and mirrored here.",
    cause: "This installation is a listener.",
    next: "Change the deployment at its control plane.",
  },
  at_listener: {
    http: [409],
    what: "The agents of this deployment are in another installation, a listener.",
    cause: "The console asked for a token of an agent that this installation does not run.",
    next: "Open the console of that installation.",
  },
  in_use: {
    http: [409],
    what: "The integration or the listener has deployments.",
    cause: "It is deleted before them.",
    next: "Delete its deployments first.",
  },
  token_in_use: {
    http: [403],
    what: "Another installation uses this listener token.",
    cause: "A data folder was copied, or two listeners have one token.",
    next: "Create a token for each installation, and revoke the former one.",
  },
  quota_exceeded: {
    http: [409],
    what: "The workspace would exceed one of its quotas.",
    cause: "`detail` names the quota, what is used and what was asked for.",
    next: "Delete or shrink something, or let the operator raise it (`superstep quotas set`). Of `api_keys`, 1,000 in force, revoke some.",
  },
  revision_in_progress: {
    http: [409],
    what: "Another revision of the deployment is in progress; `conflicting_id` names it.",
    cause: "A second deploy before the first one has ended.",
    next: "Wait for it, or send `?on_conflict=queue` or `supersede`.",
  },
  not_interruptible: {
    http: [409],
    what: "The revision has ended or receives requests, so it cannot be interrupted.",
    cause: "The request came too late.",
    next: "Roll back instead (`superstep rollback`).",
  },
  never_served: {
    http: [409],
    what: "A rollback names a revision that never served.",
    cause: "The revision failed or was skipped.",
    next: "Name one whose status is `DEPLOYED` (`superstep revisions <name>`).",
  },
  nothing_to_roll_back_to: {
    http: [409],
    what: "No earlier revision has served.",
    cause: "The deployment has one revision that was deployed.",
    next: "Deploy the code that you want.",
  },
  nothing_to_build: {
    http: [400],
    what: "The deployment has no code yet, so there is nothing to deploy again.",
    cause: "It was created for an upload or an image that never came.",
    next: "Send `source_tarball_path` or `image_uri` in a PATCH.",
  },
  not_a_canary: {
    http: [409],
    what: "The revision is not a canary at this moment.",
    cause: "It was promoted or aborted, is still in progress, or the deployment has no `canary_weight`.",
    next: "Read the revision again; `detail` says what it is.",
  },
  being_aborted: {
    http: [409],
    what: "The canary is being aborted.",
    cause: "Its runs failed, or it was aborted on request.",
    next: "Redeploy it to try anew.",
  },
  being_deleted: {
    http: [409],
    what: "The deployment is being deleted.",
    cause: "A request after the deletion, which takes until its runs and build have ended.",
    next: "Wait until it is gone; then the name is free.",
  },
  secrets_removed: {
    http: [409],
    what: "The secrets of that revision were deleted, so it cannot be deployed again as it was.",
    cause: "Secrets of old revisions are removed after a change or on request.",
    next: "Choose a newer revision, or send its configuration and secrets in a PATCH.",
  },
  unknown_upload: {
    http: [400],
    what: "`source_tarball_path` names no archive that was uploaded for this deployment.",
    cause: "The upload did not happen, has expired, or belongs to another deployment.",
    next: "Request an address with `POST …/upload-url`, upload the archive, then send its `object_path`.",
  },
  already_uploaded: {
    http: [409],
    what: "An archive was uploaded to this address already.",
    cause: "An address takes one archive.",
    next: "Request a new address with `POST …/upload-url`.",
  },
  upload_expired: {
    http: [403],
    what: "The address of the upload has expired.",
    cause: "The upload began too late.",
    next: "Request a new address with `POST …/upload-url`.",
  },
  invalid_signature: {
    http: [403],
    what: "The address of the upload is not one that the platform gave out.",
    cause: "It was shortened or changed on its way.",
    next: "Use the address exactly as `POST …/upload-url` returned it.",
  },
  no_registry: {
    http: [400],
    what: "This installation has no image registry.",
    cause: "A client that pushes images asked for a token.",
    next: "Deploy with `--remote`, or from a git repository.",
  },
  not_internal_docker: {
    http: [400],
    what: "Push tokens exist for deployments of the source `internal_docker` only.",
    cause: "The vendor's CLI was used without `--remote`.",
    next: "Deploy with `--remote`, or from a git repository.",
  },
  moved_on: {
    http: [409],
    what: "The pull request has a newer commit than the one that was approved.",
    cause: "A push after the review.",
    next: "Review the newest commit, then approve it.",
  },
  not_open: {
    http: [409],
    what: "The preview waits for no approval.",
    cause: "Its pull request was closed, or it was approved before.",
    next: "Read the preview again; `detail` has its state.",
  },
  too_many_webhooks: {
    http: [409],
    what: "The workspace has as many webhooks as it may have.",
    cause: "Webhooks that are no longer used.",
    next: "Delete one first.",
  },
  in_the_way: {
    http: [],
    what: "A deployment cannot be restored, since it or something that it needs is there.",
    cause: "The deployment was not deleted, or its address or integration belongs to another workspace.",
    next: "Follow the message: restore under another name (`--name`), or with `--replace`.",
  },
  not_issued: {
    http: [],
    what: "The certificate of a host name was not issued. The platform tries again.",
    cause:
      "The name does not point to this machine, port 80 is not reachable from the authority, or its limits are used up.",
    next: "Check with `dig <name>` and `curl http://<name>/` from outside; the message has the authority's text.",
  },
  central_failed: {
    http: [],
    what: "A listener could not talk to its control plane. It tries again.",
    cause: "The control plane is away, or of another release.",
    next: "Check that its address answers from this machine, and run the same release on both sides.",
  },
  home_in_use: {
    http: [],
    what: "Another control plane uses this data folder or this database.",
    cause: "The platform runs already, or was killed seconds ago.",
    next: "Stop the other one, or choose another data folder with `--home`; after a kill, wait for the time that the message names.",
  },
  not_in_charge: {
    http: [],
    what: "Another control plane has taken over, so this one ends. Agents keep serving.",
    cause: "The process was suspended or cut off from Postgres, and a second control plane stands by.",
    next: "Nothing: its supervisor starts it again, and it stands by.",
  },
  stopped_standing_by: {
    http: [],
    what: "The control plane was stopped while it stood by.",
    cause: "SIGTERM to the second of two control planes.",
    next: "Nothing.",
  },
  invalid_master_key: {
    http: [],
    what: "The master key is missing, cannot be read, or is not the one that the database was encrypted with.",
    cause: "`master.key` was lost, or the setting has another key.",
    next: "Restore the key whose id the message names; without it, secrets must be entered again.",
  },
  cannot_reseal: {
    http: [],
    what: "The master key was not changed, since some values cannot be opened with either key.",
    cause: "They were encrypted with a key before.",
    next: "Delete or set again the values that the message names, then repeat the command.",
  },
  secret_unreadable: {
    http: [500],
    what: "A stored secret cannot be opened.",
    cause: "The master key was replaced, or rows of the database were changed by hand.",
    next: "Restore the master key whose id the message names, or set the secret again.",
  },
} as const satisfies Readonly<Record<string, ErrorEntry>>

type ControlCodes = typeof controlCodes & EdgeCodes & RevisionCodes & MachineCodes & ImageCodes

declare module "@superstep/toolkit/errors/codes" {
  interface ErrorCodes extends ControlCodes {}
}
