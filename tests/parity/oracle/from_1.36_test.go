//go:build !kubernetes1.34 && !kubernetes1.35

package main

// balanced has the scores for the pod's effect on the balance of cpu and memory, by node. Node b has another pod.
var balanced = map[string]int64{"a": 68, "b": 69}
