//go:build kubernetes1.34 || kubernetes1.35

package main

// balanced has the scores for the balance of cpu and memory with the pod, by node. Node b has another pod.
var balanced = map[string]int64{"a": 87, "b": 75}
