/**
 * What the original's API has, by its published documents and its clients' code (control-plane §1.2, §1.3). The OAuth
 * broker for agents (`/v2/auth/…`) and sandboxes are other products.
 */

/** Method and path, with the status of success and those of failure that clients tell apart. */
export const promisedOperations: readonly (readonly [operation: string, statuses: readonly number[]])[] = [
  ["GET /v2/deployments", [200, 422]],
  ["POST /v2/deployments", [201, 400, 409, 422]],
  ["DELETE /v2/deployments", [200, 207, 422]],
  ["GET /v2/deployments/free-count", [200]],
  ["GET /v2/deployments/{deployment_id}", [200, 404, 422]],
  ["PATCH /v2/deployments/{deployment_id}", [200, 400, 404, 422]],
  ["DELETE /v2/deployments/{deployment_id}", [204, 400, 404, 422]],
  ["GET /v2/deployments/{deployment_id}/revisions", [200, 404, 422]],
  ["POST /v2/deployments/{deployment_id}/revisions", [201, 400, 404, 409, 422]],
  ["GET /v2/deployments/{deployment_id}/revisions/{revision_id}", [200, 404, 422]],
  ["POST /v2/deployments/{deployment_id}/revisions/{revision_id}/redeploy", [200, 404, 422]],
  ["GET /v2/deployments/{deployment_id}/revisions/{revision_id}/logs", [200, 404, 422]],
  ["GET /v2/deployment-logs", [200, 404, 422]],
  ["POST /v2/deployments/{deployment_id}/push-token", [400, 404]],
  ["POST /v2/deployments/{deployment_id}/upload-url", [200, 404]],
  ["PATCH /v2/deployments/{deployment_id}/resource-tiers", [200, 404, 422]],
  ["PATCH /v2/deployments/{deployment_id}/deployment-tier", [200]],
  ["GET /v2/listeners", [200, 403, 422]],
  ["POST /v2/listeners", [201, 403, 409, 422]],
  ["GET /v2/listeners/{listener_id}", [200, 403, 404, 422]],
  ["PATCH /v2/listeners/{listener_id}", [200, 403, 404, 422]],
  ["DELETE /v2/listeners/{listener_id}", [204, 403, 404, 422]],
  ["GET /v1/integrations/github/install", [200]],
  ["GET /v1/integrations/github/{integration_id}/repos", [200, 422]],
  ["POST /v1/projects/{deployment_id}/revisions/{revision_id}/build_logs", [200]],
  ["POST /v1/projects/{deployment_id}/revisions/{revision_id}/deploy_logs", [200]],
  ["POST /v1/projects/{deployment_id}/deploy_logs", [200]],
  ["POST /v1/projects/{deployment_id}/revisions", [201, 409]],
  ["GET /v1/projects/{deployment_id}/revisions", [200]],
]

/** Parameters of queries. */
export const promisedParameters: Readonly<Record<string, readonly string[]>> = {
  "GET /v2/deployments": [
    ...["limit", "offset", "name", "name_contains", "status", "remote_reconciled", "tag_value_ids", "image_version"],
    ...["deployment_type", "deployment_ids", "agent_id", "agent_environment"],
  ],
  "DELETE /v2/deployments": ["deployment_ids"],
  "DELETE /v2/deployments/{deployment_id}": ["delete_tracing_project", "force"],
  "GET /v2/deployments/{deployment_id}/revisions": ["limit", "offset", "status"],
  "GET /v2/deployments/{deployment_id}/revisions/{revision_id}/logs": [
    ...["type", "start_time", "end_time", "order", "limit", "offset", "query", "level", "run_id"],
  ],
  "GET /v2/deployment-logs": [
    ...["deployment_id", "revision_id", "log_type", "sort_order", "page_size", "cursor", "query", "level", "run_id"],
  ],
  "GET /v2/listeners": ["limit", "offset"],
  "GET /v1/projects/{deployment_id}/revisions": ["limit", "offset"],
}

const sourceConfig = [
  ...["integration_id", "repo_url", "deployment_type", "build_on_push", "custom_url", "resource_spec", "listener_id"],
  ...["listener_config", "listener_config.k8s_namespace", "install_command", "build_command", "template_id"],
]
const sourceRevisionConfig = ["repo_ref", "langgraph_config_path", "image_uri", "source_tarball_path"]

const containers = ["", "queue_", "orchestrator_", "executor_"]
const resources = ["cpu", "cpu_limit", "memory_mb", "memory_limit_mb"]
const resourceSpec = [
  ...containers.flatMap((container) => resources.map((resource) => `${container}${resource}`)),
  ...["min_scale", "max_scale", "queue_min_scale", "queue_max_scale"],
  ...["redis_memory_mb", "redis_cpu", "redis_cpu_limit", "redis_memory_limit_mb"],
  ...["db_cpu", "db_cpu_limit", "db_memory_mb", "db_memory_limit_mb", "db_storage_gi", "db_max_connections"],
  ...["labels", "annotations", "service_account_name", "image_pull_secrets", "volumes", "volume_mounts"],
  ...["init_containers", "sidecars"],
]

const below = (parent: string, fields: readonly string[]) => fields.map((field) => `${parent}.${field}`)
const allResources = below("source_config.resource_spec", resourceSpec)

/** Fields of bodies that clients send; a dot leads inside. */
export const promisedBodies: Readonly<Record<string, readonly string[]>> = {
  "POST /v2/deployments": [
    ...["name", "source", "secrets", "secrets.name", "secrets.value", "secret_references"],
    ...["agent_id", "agent_environment"],
    ...below("source_config", sourceConfig),
    ...allResources,
    ...below("source_revision_config", [...sourceRevisionConfig, "graph_config_path"]),
  ],
  "PATCH /v2/deployments/{deployment_id}": [
    ...["display_name", "secrets.name", "secrets.value", "secret_references", "revision_source", "tracked_packages"],
    ...below("source_config", sourceConfig),
    ...allResources,
    ...below("source_revision_config", sourceRevisionConfig),
  ],
  "POST /v2/deployments/{deployment_id}/revisions": [
    ...["secrets.name", "secrets.value", "secret_references"],
    ...below("source_config", sourceConfig),
    ...below("source_revision_config", sourceRevisionConfig),
  ],
  "PATCH /v2/deployments/{deployment_id}/resource-tiers": ["compute_tier", "database_tier"],
  "POST /v2/listeners": ["compute_type", "compute_id", "compute_config.k8s_namespaces"],
  "PATCH /v2/listeners/{listener_id}": ["version", "compute_config.k8s_namespaces"],
  "POST /v1/projects/{deployment_id}/revisions": ["repo_path", "env_vars.name", "env_vars.value", "env_vars.type"],
}

const deployment = [
  ...["id", "tenant_id", "name", "display_name", "source", "secrets.name", "secrets.value", "created_at", "updated_at"],
  ...["secret_references.name", "secret_references.secret_name", "secret_references.secret_key", "status"],
  ...["latest_revision_id", "active_revision_id", "image_version", "is_preview", "agent_id", "agent_environment"],
  ...below("source_config", [...sourceConfig, "repo_branch"]),
  ...allResources,
  ...below("source_revision_config", [...sourceRevisionConfig, "repo_commit_sha"]),
]
const revision = [
  ...[
    "id",
    "created_at",
    "updated_at",
    "status",
    "source",
    "status_message",
    "error_code",
    "started_at",
    "finished_at",
  ],
  ...["trigger", "actor", "commit.sha", "commit.message", "commit.author", "health", "duration_ms_by_stage"],
  ...below("source_revision_config", [...sourceRevisionConfig, "repo_commit_sha"]),
]
const listener = [
  ...["id", "created_at", "updated_at", "version", "compute_type", "compute_id", "compute_config.k8s_namespaces"],
]

/** Fields of replies of success. */
export const promisedReplies: Readonly<Record<string, readonly string[]>> = {
  "GET /v2/deployments": ["offset", ...below("resources", deployment)],
  "POST /v2/deployments": deployment,
  "GET /v2/deployments/free-count": ["count"],
  "GET /v2/deployments/{deployment_id}": deployment,
  "PATCH /v2/deployments/{deployment_id}": deployment,
  "GET /v2/deployments/{deployment_id}/revisions": ["offset", ...below("resources", revision)],
  "POST /v2/deployments/{deployment_id}/revisions": revision,
  "GET /v2/deployments/{deployment_id}/revisions/{revision_id}": revision,
  "POST /v2/deployments/{deployment_id}/revisions/{revision_id}/redeploy": deployment,
  "POST /v2/deployments/{deployment_id}/upload-url": ["upload_url", "object_path"],
  "PATCH /v2/deployments/{deployment_id}/resource-tiers": deployment,
  "GET /v2/deployments/{deployment_id}/revisions/{revision_id}/logs": ["logs", "next_offset"],
  "GET /v2/deployment-logs": ["items", "next_cursor"],
  "GET /v2/listeners": ["offset", ...below("resources", listener)],
  "POST /v2/listeners": listener,
  "GET /v2/listeners/{listener_id}": listener,
  "PATCH /v2/listeners/{listener_id}": listener,
  "GET /v1/integrations/github/install": ["id", "installation_id", "name"],
  "GET /v1/integrations/github/{integration_id}/repos": [
    ...["host_integration_id", "id", "name", "owner", "url", "default_branch"],
  ],
  "POST /v1/projects/{deployment_id}/revisions/{revision_id}/build_logs": [
    ...["logs.id", "logs.timestamp", "logs.level", "logs.message", "next_offset"],
  ],
  "POST /v1/projects/{deployment_id}/revisions": [
    ...["status", "resource.latest_revision.hosted_langserve_revision_id"],
  ],
  "GET /v1/projects/{deployment_id}/revisions": ["id", "status", "status_message"],
}

/** Values that enumerations must have. */
export const promisedValues: Readonly<Record<string, readonly string[]>> = {
  source: ["github", "external_docker", "internal_docker", "internal_source", "internal_template"],
  status: ["AWAITING_DATABASE", "READY", "UNUSED", "AWAITING_DELETE", "AWAITING_FINAL_DELETE", "UNKNOWN"],
  "source_config.deployment_type": ["dev_free", "dev", "prod", "dev_zero", "dev_free_zero"],
}
