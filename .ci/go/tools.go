//go:build tools

// Package ci keeps the versions of the Go programs that tests run. Programs of others are named here, so that go.mod has their modules;
// the one of our own is in the folder kubernetes.
package ci

import (
	_ "github.com/letsencrypt/pebble/v2/cmd/pebble"
	_ "helm.sh/helm/v3/cmd/helm"
)
