#!/bin/sh
# kubeconfig.sh ACCOUNT [DURATION]: a kubeconfig for a service account in kube-system, with a token that is as old at the
# most (24h; an API server may grant less, and says so), for the cluster of kubectl's current context. To standard output:
# it is a credential.
set -eu
account=${1:?"usage: kubeconfig.sh ACCOUNT [DURATION]"}
cluster() { kubectl config view --minify --raw --flatten --output "jsonpath={.clusters[0].cluster.$1}"; }
server=$(cluster server)
authority=$(cluster certificate-authority-data)
token=$(kubectl create token "$account" --namespace kube-system --duration "${2:-24h}")
cat <<END
apiVersion: v1
kind: Config
clusters: [{name: cluster, cluster: {server: "$server", certificate-authority-data: "$authority"}}]
users: [{name: "$account", user: {token: "$token"}}]
contexts: [{name: cluster, context: {cluster: cluster, user: "$account"}}]
current-context: cluster
END
