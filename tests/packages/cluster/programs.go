//go:build tools

// Package cluster names the programs of Kubernetes that the tests run. Nothing
// imports it: it keeps go.mod and go.sum to what they need.
package cluster

import (
	_ "go.etcd.io/etcd/server/v3"
	_ "k8s.io/kubernetes/cmd/kube-apiserver"
	_ "k8s.io/kubernetes/cmd/kube-controller-manager"
)
