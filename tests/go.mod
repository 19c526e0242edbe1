// The module of the Go programs in controlplane and parity/oracle. Each version of Kubernetes locks them anew: they are
// built with -modfile=kubernetes/VERSION.mod, and this file only marks the module's root.
module tests

go 1.26.0
