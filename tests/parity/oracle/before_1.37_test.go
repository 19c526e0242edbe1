//go:build !kubernetes1.37

package main

// A namespaceSelector that the empty set of labels satisfies holds for every namespace.
var farAway = rejection{"InterPodAffinity", PluginVerdict{rejected, []string{"node(s) didn't match pod anti-affinity rules"}}}
