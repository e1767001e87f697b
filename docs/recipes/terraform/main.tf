# A deployment from git, for Terraform 1.4 or OpenTofu and newer. It needs no provider: the command `superstep` does the work, with
# SUPERSTEP_URL and SUPERSTEP_API_KEY of the environment.
terraform {
  required_version = ">= 1.4"
}

variable "name" {
  description = "Name of the deployment."
  type        = string
}

variable "repo_url" {
  description = "Repository with a langgraph.json. To deploy another one, choose another name."
  type        = string
}

variable "ref" {
  description = "Commit, or a tag as refs/tags/<tag>. A branch would be deployed once, and not again when it moves."
  type        = string
}

variable "env_file" {
  description = "File with the agent's secrets, NAME=value a line. The state has only its hash."
  type        = string
  default     = null
}

# Destroying it deletes the agent and its database.
resource "terraform_data" "deployment" {
  input            = var.name
  triggers_replace = var.name

  # What is gone already needs no deletion: the first apply failed, or somebody deleted it elsewhere.
  provisioner "local-exec" {
    when        = destroy
    command     = "found=$(superstep list --name-contains \"$NAME\") && if echo \"$found\" | grep -q \"^$NAME \"; then superstep delete \"$NAME\" --yes; fi"
    environment = { NAME = self.input }
  }
}

# Each change of these values deploys a revision. The former one serves until then, and on if it fails.
resource "terraform_data" "revision" {
  triggers_replace = [
    terraform_data.deployment.id,
    var.repo_url,
    var.ref,
    var.env_file == null ? null : filesha256(var.env_file),
  ]

  provisioner "local-exec" {
    command = "superstep deploy --name \"$NAME\" --repo \"$REPO_URL\" --ref \"$REF\" $${ENV_FILE:+--env-file \"$ENV_FILE\"}"
    environment = {
      NAME     = var.name
      REPO_URL = var.repo_url
      REF      = var.ref
      ENV_FILE = var.env_file == null ? "" : var.env_file
    }
  }
}
